// Package nats runs clusters of the real NATS server with JetStream as it is: its raft, its file
// stores, its routes, several servers in one process, in virtual time. What servers send each other
// is in the engine's hands, write by write; they crash where they are, lose power with what was not
// synced, stand still, live by wrong clocks.
//
// It needs a program built with the overlay:
//
//	lockstep go test .
package nats
