package kafka

import (
	"context"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// told is a system that tells prepared events in its one step, for specs.
type told []lockstep.Event

func (e told) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "told", Nodes: 3, Supports: trace.KindsOf(trace.Request)}, nil
}
func (e told) Deploy(*lockstep.Place) (lockstep.Deployment, error) { return e, nil }
func (e told) Abilities() lockstep.Abilities                       { return lockstep.Abilities{} }
func (e told) Close() error                                        { return nil }
func (e told) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	out.Offer(lockstep.Pending{ID: 1, To: trace.NodesOf(1), Text: "tell"})
	return nil
}
func (e told) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	for _, event := range e {
		out.Event(event)
	}
	return nil
}
