// Package bftsmart puts BFT-SMaRt under test: JD's fork of the line before TLS, which is the only
// one that is published, in its unmodified jar. Four replicas and a client are JVMs of their own.
//
// A small agent hooks into the communication layer of each replica while its classes are
// loaded: whatever it sends, to others and to itself, is a message in the engine's hands, and is
// put into the replica's queue when it is delivered. State transfer is left to the replicas'
// own sockets. Timers and time are real, quiet is a stated silence, so that runs repeat roughly
// and findings are k of n. Each run has new processes.
package bftsmart
