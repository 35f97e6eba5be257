// Package etcdserver runs clusters of the real etcd server as it is: its raft, its storage, its
// gRPC and HTTP, several members in one process, in virtual time. What members send each other is
// in the engine's hands, write by write; they crash where they are, lose power with what was not
// synced, stand still, live by wrong clocks.
//
// It needs a program built with the overlay:
//
//	lockstep go test .
package etcdserver
