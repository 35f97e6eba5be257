// Package serftest tests hashicorp/serf, membership and events by gossip, over UDP and TCP in memory. It is a
// separate module, because it requires another version of memberlist than the other modules.
//
//	lockstep go test .
package serftest
