// Package nats tests clusters of the unmodified NATS server with JetStream: its raft, its file stores, its routes,
// several servers in one process, in virtual time. The engine controls every write between servers. Servers crash at
// any point, lose unsynced data in power failures, pause, and have skewed clocks.
//
// The package needs a program built with the overlay:
//
//	lockstep go test .
package nats
