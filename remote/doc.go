// Package remote tests replicas in other processes, in any language.
//
// A replica passes every message, timer and observable event to the engine and executes its orders (packages client and
// wire; docs/reference/remote.md describes the protocol). The replica answers each order with a report once all its
// work is done. Quiescence is therefore known, not guessed. Time is the engine's: timers fire when it orders so. A run
// of replicas that follow these rules is deterministic.
package remote
