package cli

import (
	"context"
	"sync"
	"time"
)

// timed ends a context after a time that can be paused. The preparation of a campaign before its first run does not
// count.
type timed struct {
	end context.CancelFunc

	mutex  sync.Mutex
	left   time.Duration
	since  time.Time // when the time last resumed
	timer  *time.Timer
	pauses int // active pauses
}

// newTimed starts the time. The function that it returns ends the context, whether the time is up or not.
func newTimed(ctx context.Context, limit time.Duration) (context.Context, *timed, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	t := &timed{end: end, left: limit, since: time.Now()}
	t.timer = time.AfterFunc(limit, end)
	return ctx, t, func() {
		t.timer.Stop()
		end()
	}
}

// pause pauses the time until the caller calls the returned function. Pauses may overlap.
func (t *timed) pause() (resume func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.pauses++; t.pauses == 1 {
		t.timer.Stop()
		t.left -= time.Since(t.since)
	}
	return func() {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		if t.pauses--; t.pauses == 0 {
			t.since = time.Now()
			t.timer.Reset(max(t.left, 0))
		}
	}
}

// grace is how long a campaign may continue after its time before the command says why.
const grace = 2 * time.Second

// overtime calls a function if a campaign continues after its time. The returned function says that it ended.
func overtime(ctx context.Context, notify func()) (ended func()) {
	over := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		select {
		case <-time.After(grace):
			notify()
		case <-over:
		}
	}()
	return sync.OnceFunc(func() { close(over) })
}
