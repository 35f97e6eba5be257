package enginetest

import (
	"context"

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
