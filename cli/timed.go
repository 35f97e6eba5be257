package cli

import (
	"context"
	"sync"
	"time"
)

// timed ends a context after a time that can be paused: what a campaign does before its first run does not count.
type timed struct {
	end context.CancelFunc

	mutex  sync.Mutex
	left   time.Duration
	since  time.Time // when the time went on last
	timer  *time.Timer
	pauses int // under way
}

// newTimed begins the time. The function ends the context, whether time is up or not.
func newTimed(ctx context.Context, limit time.Duration) (context.Context, *timed, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	t := &timed{end: end, left: limit, since: time.Now()}
	t.timer = time.AfterFunc(limit, end)
	return ctx, t, func() {
		t.timer.Stop()
		end()
	}
}

// pause stops the time until the function that it returns is called. Pauses may overlap.
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
