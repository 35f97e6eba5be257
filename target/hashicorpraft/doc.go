// Package hashicorpraft puts hashicorp/raft under test: the library as it is, with its
// goroutines and timers, in a bubble of virtual time (package bubble).
//
// The network is a transport of our own with the surface of the library's TCP transport:
// calls with a time-out, a pipeline for AppendEntries, a path of their own for heartbeats,
// snapshots that arrive in chunks, TimeoutNow and pre-votes. Each request, answer and chunk is
// one message of the engine. Messages of a stream (a pipeline, a snapshot) are taken in the
// order of sending, as on a connection; one that is lost breaks the stream, which the two
// ends notice by their time-outs.
//
// The stores of a node are on a disk that a crash may interrupt between any two writes. What
// is replicated is a small map of registers with clients; an operator may demote and promote
// voters, transfer leadership and ask for snapshots.
//
// Which version of the library is tested is a matter of the build: the folder versions has
// a module file for each.
package hashicorpraft
