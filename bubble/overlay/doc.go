// Package overlay makes Go programs repeat exactly. It generates, from the installed Go, an
// overlay of a few files of its standard library: in a bubble of package testing/synctest the
// random choices of the runtime (select, order of maps and of timers, math/rand, crypto/rand)
// come from a seed, the order of a map does not depend on addresses, nothing is preempted by the wall clock, a goroutine that waits for a lock
// is quiet, and goroutines know the node that they belong to.
//
// The files are edited by their syntax trees. Every edit names the function, type or
// statement that it is about; if a Go release looks different there, nothing is generated and
// the error names the place. It fits Go 1.26, which the module needs, and Go 1.25, where two of the
// edits are others.
//
// [Main] is the go command with the overlay. What is generated goes to the user's cache
// folder. Programs built with it are for tests only: their random sources are not random.
package overlay
