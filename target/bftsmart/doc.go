// Package bftsmart tests BFT-SMaRt: JD's fork of the version before TLS, which is the only published one, as an
// unmodified jar. Four replicas and a client run in separate JVMs.
//
// A small agent hooks into the communication layer of each replica while its classes load. Each message that a replica
// sends, to others and to itself, is a message of the engine, and enters the replica's queue on delivery. State
// transfer stays on the replicas' own sockets. Timers and time are real, and silence for a configured time counts as
// quiescence. Replay is therefore best effort, and findings recur in k of n repetitions. Each run starts new processes.
package bftsmart
