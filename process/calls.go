package process

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
)

// Call is a client's call, which runs concurrently with the steps of a run. It returns a function that reports its
// result, in the step that collects the result.
type Call func(context.Context) (report func(*lockstep.Outbox))

// Ask begins a call of a client, which must have no pending call, and waits up to wait for its result. The call
// continues until it has a result or its context ends: with the run, or when the client gives up.
func (c *Cluster) Ask(ctx context.Context, client int, wait time.Duration, call Call) error {
	return c.calls.ask(ctx, client, wait, call)
}

// Busy reports whether any call is still pending.
func (c *Cluster) Busy() bool { return c.calls.busy() }

// Report reports an event at the end of the next step. It is safe for concurrent use.
func (c *Cluster) Report(e lockstep.Event) { c.reports.add(e) }

// Collect reports the results that clients have received. It runs before and after each step; a driver that waits for a
// result may call it too.
func (c *Cluster) Collect(out *lockstep.Outbox) {
	for _, e := range c.reports.drain() {
		out.Event(e)
	}
	c.calls.report(out)
}

// reports holds events that were reported and not yet collected.
type reports struct {
	mutex  sync.Mutex
	events []lockstep.Event
}

func (r *reports) add(e lockstep.Event) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.events = append(r.events, e)
}

func (r *reports) drain() []lockstep.Event {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	events := r.events
	r.events = nil
	return events
}

// calls holds the pending calls, by client.
type calls map[int]*call

// call is a pending call. The report function is set when done is closed.
type call struct {
	cancel context.CancelFunc
	done   chan struct{}
	report func(*lockstep.Outbox)
}

func (c calls) ask(ctx context.Context, client int, wait time.Duration, do Call) error {
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &call{cancel: cancel, done: make(chan struct{})}
	c[client] = a
	go func() {
		defer close(a.done)
		a.report = do(asking)
	}()
	limit, enough := context.WithTimeout(ctx, wait)
	defer enough()
	select {
	case <-a.done:
	case <-limit.Done():
	}
	return ctx.Err()
}

// ended reports whether a call has a result.
func (c *call) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// report reports the results that have arrived, in the order of clients, each of them once.
func (c calls) report(out *lockstep.Outbox) {
	for _, client := range slices.Sorted(maps.Keys(c)) {
		if a := c[client]; a.ended() {
			a.cancel()
			delete(c, client)
			a.report(out)
		}
	}
}

func (c calls) busy() bool {
	for _, a := range c {
		if !a.ended() {
			return true
		}
	}
	return false
}

// cancel makes all clients give up, and returns when all calls have ended. Their results are still to be reported.
func (c calls) cancel() {
	for _, a := range c {
		a.cancel()
	}
	for _, a := range c {
		<-a.done
	}
}

// forget ends all calls without reporting their results.
func (c calls) forget() {
	c.cancel()
	clear(c)
}
