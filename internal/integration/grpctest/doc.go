// Package grpctest tests that gRPC runs on in-memory sockets. It is a separate module, because gRPC is a heavy
// dependency.
//
//	lockstep go test .
package grpctest
