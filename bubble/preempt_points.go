//go:build lockstep_points

package bubble

import (
	"runtime"
	"runtime/metrics"
)

// hasPoints reports whether goroutines can be preempted in this program.
const hasPoints = true

// count is what the runtime and the preempter know of a goroutine.
type count = runtime.LockstepCount

func beginPreemption()     { runtime.LockstepBeginPreemption(metrics.LockstepPackages) }
func endPreemption()       { runtime.LockstepEndPreemption() }
func preemptible(yes bool) { runtime.LockstepPreemptible(yes) }

// awaitPoint waits for a point at which to decide, and returns the count of the goroutine there. If continues is set,
// the goroutine of the last point keeps its turn. It returns nil at the end of the run.
func awaitPoint(continues bool) *count { return runtime.LockstepAwaitPoint(continues) }

// preempt takes the turn from the goroutine at the point. It returns whether that goroutine holds a lock, and the
// function that makes it continue.
func preempt() (locked bool, resume func()) {
	p := runtime.LockstepPreempt()
	return p.Locked(), func() { p.Resume() } // a goroutine that begins in package runtime is in no bubble
}
