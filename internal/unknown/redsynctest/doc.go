// Package redsynctest tests go-redsync/redsync, a lock service on several Redis servers (Redlock), over TCP in memory,
// with go-redis as its client and miniredis as the servers. It is a module of its own, because these are heavy
// dependencies.
//
//	lockstep go test .
package redsynctest
