// Package dragonboattest tests lni/dragonboat v4, a library for multi-group Raft, with its default log on a disk
// (pebble) and its default transport on TCP in memory. It is a separate module, because these are heavy dependencies.
//
//	lockstep go test .
package dragonboattest
