package process

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
)

// Call performs a client's call and returns a function that reports the result. The call runs in its own goroutine,
// concurrently with the steps of a run. The deployment calls report on the engine's goroutine, in a later step or in
// the same one.
type Call func(context.Context) (report func(*lockstep.Outbox))

// StartCall begins a call of a client, which must have no pending call. It waits for the result, but at most for the
// given time; without a result the call continues in later steps. The context of the call ends with the run, and at the
// end of the next Wait step if Driver.GiveUp is set.
func (c *Deployment) StartCall(ctx context.Context, client int, wait time.Duration, call Call) error {
	return c.calls.ask(ctx, client, wait, call)
}

// Busy reports whether a call has no result yet.
func (c *Deployment) Busy() bool { return c.calls.busy() }

// Report reports an event from any goroutine, such as one that reads from a server. The event belongs to the current
// step, or to the next one if no step is being performed.
func (c *Deployment) Report(e lockstep.Event) { c.reports.add(e) }

// Collect reports to the engine the results of calls that have ended, and the events given to Report. The deployment
// calls it before and after each step. A driver that waits for a result may call it, too.
func (c *Deployment) Collect(out *lockstep.Outbox) {
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
