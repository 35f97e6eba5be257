// Package etcdserverpb has the names that are in a package of etcd 3.4, for who knows it by its later path.
package etcdserverpb

import "go.etcd.io/etcd/etcdserver/etcdserverpb"

// Member is a member of a cluster.
type Member = etcdserverpb.Member

// RangeRequest asks for keys.
type RangeRequest = etcdserverpb.RangeRequest
