// Package hashicorpraft tests hashicorp/raft: the unmodified library, with its goroutines and timers, in a bubble of
// virtual time (package bubble).
//
// The network is Lockstep's own transport with the interface of the library's TCP transport. It has calls with a
// timeout, a pipeline for AppendEntries, a separate path for heartbeats, snapshots in chunks, TimeoutNow and
// pre-votes. Each request, response and chunk is one message of the engine. The receiver processes messages of a
// stream (a pipeline, a snapshot) in the order of sending, as on a connection. A lost message breaks the stream, and
// both ends detect that by their timeouts.
//
// The stores of a node are on a disk, and a crash may come between any two writes. The replicated state is a small
// map of registers with clients. An operator may demote and promote voters, transfer leadership and request
// snapshots.
//
// The build determines the version of the library: the directory versions has a module file for each.
package hashicorpraft
