package bubble

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockstep-go/lockstep"
)

// Warming is a few runs that a process makes once, before the first run that counts. It is for programs that make tables, caches or
// goroutines of the process when they are first needed: without it, the first run that needs one would differ from the same
// run repeated. What these runs find is ignored.
//
// Every cluster warms up without one, by a short run of its own without faults. A Warming adds what such a run does not reach.
type Warming struct {
	// Plans makes the plans of the runs. Their systems name no Warming. Runs are made by one worker, so that they are the same each time.
	Plans func() []lockstep.Plan

	mutex sync.Mutex
	done  bool
}

// do makes the runs, unless this process has made them. Other callers wait meanwhile.
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
		if err := ctx.Err(); err != nil { // the runs may be incomplete
			return err
		}
	}
	w.done = true
	return nil
}
