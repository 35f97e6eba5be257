// Package etcdraft tests etcd's raft: the unmodified library, in process, through its RawNode. [Cluster] is the
// system. Its nodes run the library, each with a disk that loses unsynced writes and a replicated map on top. Clients
// read, write and compare-and-set, time out and try another node.
//
// The package drives go.etcd.io/raft/v3 v3.7. Package v35 drives go.etcd.io/etcd/raft/v3 v3.5.2 with the same
// adapter, and has its own Cluster.
//
// The specs are those of any Raft ([raftspec]) and of its clients ([kv]): [Safety], [Linearizability], and
// [Everything], which adds durability, agreement of the logs, liveness, and [Causes]: the rules of votes and
// configurations.
//
// # What is replaced
//
// The library draws one random value, the election timeout, from a source that the process shares. Every node keeps
// the drawn value in an unexported field. The adapter overwrites it with a value drawn from the run's seed. Nothing
// else in the process is replaced, so workers are independent. Package timeouts offers the same to programs that
// drive a RawNode themselves.
//
// # What the adapter does for the library
//
// The adapter follows the library's rules for its users:
//
//   - it writes the contents of a Ready, entries before the hard state, before it sends the messages;
//   - it applies committed entries in order;
//   - it reports every sent snapshot as received or failed;
//   - it never reuses the numbers of removed nodes;
//   - it refuses the messages of a removed node.
//
// With asynchronous storage writes the two storage threads process their messages in order, at moments drawn from the
// seed.
//
// # Time
//
// A tick is a unit of virtual time. When a node's timer fires, its clock catches up with the run's virtual time. A
// node that is already up to date advances the virtual time. While messages are in flight it advances by one tick,
// otherwise to the next tick at which a node acts.
package etcdraft
