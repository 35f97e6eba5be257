// Package types has the names that are in a package of etcd 3.4, for who knows it by its later path.
package types

import "go.etcd.io/etcd/pkg/types"

// ID is the number of a member.
type ID = types.ID
