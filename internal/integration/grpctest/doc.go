// Package grpctest tests that gRPC runs on sockets in memory. It is a module of its own, because
// gRPC is a heavy dependency.
//
//	lockstep go test .
package grpctest
