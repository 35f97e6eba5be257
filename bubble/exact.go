//go:build lockstep_overlay

package bubble

import (
	"runtime"
	"runtime/debug"
)

// Exact says whether the program was built with the overlay ("lockstep go"), so that runs
// repeat always, in every process.
const Exact = true

// collectEvery is the number of runs between two collections of garbage. One that the runtime
// begins by itself would show in the order of goroutines.
const collectEvery = 32

// rules turns the rules of the overlay on for a run.
func rules(seed uint64) { runtime.LockstepSeed(seed) }

// onNode makes the calling goroutine one of a node, and so all that it starts.
func onNode(n int32) { runtime.LockstepSetNode(n) }

// takeOver makes the process fit for exact runs, and returns what undoes that.
func takeOver() func() {
	percent := debug.SetGCPercent(-1)
	return func() {
		runtime.LockstepOff()
		debug.SetGCPercent(percent)
	}
}

// collect collects garbage now and then, between runs.
func collect(run int) {
	if run%collectEvery == 0 {
		runtime.GC()
	}
}
