package process

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Calls are what clients have asked of servers: one call of a client at a time, whose result is an R. They go on beside the steps of
// a run, and what comes of them is told when it is asked for.
type Calls[R any] struct{ open map[int]*call[R] }

// call is one under way. The result is there when done is closed.
type call[R any] struct {
	cancel context.CancelFunc
	done   chan struct{}
	result R
}

// Ask begins a call of a client, which must have none, and waits for its result a little: for so long. The call goes on
// until it has one or Cancel ends its context.
func (c *Calls[R]) Ask(ctx context.Context, client int, pace time.Duration, do func(context.Context) R) error {
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &call[R]{cancel: cancel, done: make(chan struct{})}
	if c.open == nil {
		c.open = map[int]*call[R]{}
	}
	c.open[client] = a
	go func() {
		defer close(a.done)
		a.result = do(asking)
	}()
	little, enough := context.WithTimeout(ctx, pace)
	defer enough()
	select {
	case <-a.done:
	case <-little.Done():
	}
	return ctx.Err()
}

// Answers tells the results that have come, in the order of clients. Each is told once.
func (c *Calls[R]) Answers(tell func(client int, result R)) {
	for _, client := range slices.Sorted(maps.Keys(c.open)) {
		a := c.open[client]
		select {
		case <-a.done:
			a.cancel()
			delete(c.open, client)
			tell(client, a.result)
		default:
		}
	}
}

// Busy reports whether some call has no result yet.
func (c *Calls[R]) Busy() bool {
	for _, a := range c.open {
		select {
		case <-a.done:
		default:
			return true
		}
	}
	return false
}

// Cancel lets no client wait any longer, and comes back when all calls have ended. What came of them Answers tells.
func (c *Calls[R]) Cancel() {
	for _, a := range c.open {
		a.cancel()
	}
	for _, a := range c.open {
		<-a.done
	}
}

// Forget ends all calls, of which no result is told.
func (c *Calls[R]) Forget() {
	c.Cancel()
	clear(c.open)
}
