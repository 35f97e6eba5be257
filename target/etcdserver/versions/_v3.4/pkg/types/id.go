// Package types re-exports names of an etcd 3.4 package under the import path of later releases.
package types

import "go.etcd.io/etcd/pkg/types"

// ID is the ID of a member.
type ID = types.ID
