// Package remote makes a system under test of replicas in other processes, in any language.
//
// A replica hands every message, timer and observable event to the engine and does what it is
// told (packages client and wire; the protocol is in docs/remote.md). Each order is answered by
// a report that says when the replica has done everything it was told, so that quiet is known
// and not guessed, and time is the engine's: timers fire when it says so. A run of replicas that
// keep to this repeats exactly.
package remote
