package bubble

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockstep-go/lockstep"
)

// Warming is a set of runs that a process makes once, before the first run that counts. It is for programs that make
// tables, caches or goroutines of the process on first use: without it, the first run that needs one would differ from
// a rerun. The findings of these runs are ignored.
//
// With the overlay, every cluster warms up by a short run without faults. A Warming reaches what that run does not. Use
// one variable for all clusters that need the same runs: [Process].Warm contains pointers, so that a process makes the
// runs once.
type Warming struct {
	// Plans returns the plans of the runs. The process calls it once. The systems in these plans must have no
	// Process.Warm, because that would warm up without an end. One worker performs the runs, so that they are the same
	// each time.
	Plans func() []lockstep.Plan

	mutex sync.Mutex
	done  bool
}

// do performs the runs, unless this process has done so. Concurrent callers wait meanwhile.
func (w *Warming) do(ctx context.Context) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.done {
		return nil
	}
	for _, plan := range w.Plans() {
		plan.Workers = 1
		if _, err := lockstep.Explore(ctx, plan); err != nil {
			return fmt.Errorf("bubble: warming up: %w", err)
		}
		if err := ctx.Err(); err != nil { // after a cancellation the runs may be incomplete
			return err
		}
	}
	w.done = true
	return nil
}
