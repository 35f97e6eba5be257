// Package etcdserver tests clusters of the unmodified etcd server: its raft, its storage, its gRPC and HTTP, several
// members in one process, in virtual time. The engine controls every write between members. Members crash at any
// point, lose unsynced data in power failures, pause, and have skewed clocks.
//
// The package needs a program built with the overlay:
//
//	lockstep go test .
package etcdserver
