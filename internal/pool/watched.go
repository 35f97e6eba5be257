package pool

import (
	"context"
	"time"
)

// grace is the time in which work must end after its context has ended.
const grace = 500 * time.Millisecond

// Watched calls do on a new goroutine and waits for its result. At every value from look it checks whether the work is
// alive. If it is not, or if the context has ended and the work does not end soon after, Watched returns without a
// result. The goroutine then keeps running, since it cannot be stopped.
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
