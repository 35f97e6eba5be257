// Package redsynctest tests go-redsync/redsync, a lock service on several Redis servers (Redlock), over TCP in
// memory. Its client is go-redis, and the servers are miniredis. It is a separate module, because these are heavy
// dependencies.
//
//	lockstep go test .
package redsynctest
