package enginetest

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Told is a system that tells prepared events in its one step, for specs.
type Told []lockstep.Event

// Describe says what it is.
func (e Told) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "told", Nodes: 3, Supports: trace.KindsOf(trace.Request)}, nil
}

// Deploy makes one.
func (e Told) Deploy(*lockstep.Place) (lockstep.Deployment, error) { return e, nil }

// Abilities are none.
func (e Told) Abilities() lockstep.Abilities { return lockstep.Abilities{} }

// Close has nothing to close.
func (e Told) Close() error { return nil }

// Reset offers the one step.
func (e Told) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	out.Offer(lockstep.Pending{ID: 1, To: trace.NodesOf(1), Text: "tell"})
	return nil
}

// Do tells the events.
func (e Told) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	for _, event := range e {
		out.Event(event)
	}
	return nil
}

// Calmed is a system that tells some events, and others again and again when faults have stopped, a minute after the
// other: for specs of what is so in the end.
type Calmed struct {
	Options       map[string]string
	Before, After []lockstep.Event
}

// Describe says what it is.
func (c Calmed) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "calmed", Nodes: 3, Options: c.Options, Supports: trace.KindsOf(trace.Wait), OneClock: true, Pace: lockstep.Time(time.Minute)}, nil
}

// Deploy makes one.
func (c Calmed) Deploy(*lockstep.Place) (lockstep.Deployment, error) { return c, nil }

// Abilities are none.
func (Calmed) Abilities() lockstep.Abilities { return lockstep.Abilities{} }

// Close has nothing to close.
func (Calmed) Close() error { return nil }

// Reset begins a run.
func (Calmed) Reset(context.Context, uint64, *lockstep.Outbox) error { return nil }

// Do tells the events.
func (c Calmed) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	list := c.Before
	if out.Settling() {
		list = c.After
	}
	for _, e := range list {
		out.Event(e)
	}
	return nil
}
