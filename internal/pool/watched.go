package pool

import (
	"context"
	"time"
)

// grace is the time in which work is to end when its context has ended.
const grace = 500 * time.Millisecond

// Watched calls do on a goroutine of its own and waits for its result. At every value from
// look it asks whether the work is alive; where it is not, or where the context has ended and
// the work does not end soon after, Watched returns without a result. The goroutine is left
// running then, since nothing can stop it.
func Watched[T any](ctx context.Context, do func() T, look <-chan time.Time, alive func() bool) (result T, done bool) {
	end := make(chan T, 1)
	go func() { end <- do() }()
	over := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case result = <-end:
			return result, true
		case <-over:
			timer := time.NewTimer(grace) //nolint:forbidigo // no result depends on it
			defer timer.Stop()
			over, late = nil, timer.C
		case <-late:
			return result, false
		case <-look:
			if !alive() {
				return result, false
			}
		}
	}
}
