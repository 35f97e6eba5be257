// Package etcdraft puts etcd's raft under test: the library as it is, unmodified, through
// its RawNode, in process. [Cluster] is the system: nodes of the library, each with a
// disk that loses what was not synced, a replicated map on top, and clients that read,
// write and compare-and-set, lose their patience and try another node.
//
// The package drives go.etcd.io/raft/v3 v3.7; package v35 next to it drives
// go.etcd.io/etcd/raft/v3 v3.5.2 with the same adapter, and a Cluster of its own.
//
// The specs are those of any Raft ([raftspec]) and of its clients ([kv]): [Safety],
// [Linearizability], and [Everything], with durability, agreement of the logs and liveness.
//
// # What is replaced
//
// One thing in the library is random, the election time-out, and it is drawn from a
// source of the process. The adapter overwrites the drawn value, which every node keeps
// in an unexported field, with one drawn from the run's seed. Nothing of the process is
// replaced, so that workers do not know of each other. Package timeouts offers the same
// to programs that drive a RawNode themselves.
//
// # What the adapter does for the library
//
// It follows the library's rules for its users: what a Ready wants written is written,
// entries before the hard state, before its messages go out; committed entries are
// applied in order; every snapshot that is sent is reported as received or failed; the
// numbers of removed nodes are not used again; the messages of a removed node are
// refused. With asynchronous storage writes the two storage threads work through their
// messages in order, at moments drawn from the seed.
//
// # Time
//
// A tick is a unit of virtual time. When a node's alarm fires, its clock catches up with
// the run's virtual time; a node that is already there takes the time on, by one tick
// while messages are on their way, and otherwise to the next tick at which a node acts.
package etcdraft
