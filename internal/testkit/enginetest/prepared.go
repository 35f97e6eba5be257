package enginetest

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Prepared is a system that reports prepared events in its single step, for tests of specs.
type Prepared []lockstep.Event

// Describe describes the system.
func (p Prepared) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "prepared", Nodes: 3, Supports: trace.KindsOf(trace.Request)}, nil
}

// Deploy deploys the system.
func (p Prepared) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) { return p, nil }

// Capabilities returns the zero value.
func (p Prepared) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }

// Close does nothing.
func (p Prepared) Close() error { return nil }

// Reset offers the single step.
func (p Prepared) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	out.Offer(trace.Pending{ID: 1, To: trace.NodesOf(1), Text: "report"})
	return nil
}

// Do reports the events.
func (p Prepared) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	for _, event := range p {
		out.Event(event)
	}
	return nil
}

// Timed is a system that reports prepared events at their times, one moment in each step. It is for tests of specs that
// check the final state, where the last steps belong to a settling stage.
type Timed struct {
	Options map[string]string
	Moments []Moment
}

// Moment is a time of a run, from its beginning, and the events of that time.
type Moment struct {
	At     time.Duration
	Events []lockstep.Event
}

// Describe describes the system.
func (t Timed) Describe() (lockstep.Info, error) {
	return lockstep.Info{
		Name:     "timed",
		Nodes:    3,
		Options:  t.Options,
		Supports: trace.KindsOf(trace.Wait),
		OneClock: true,
		Pace:     1,
	}, nil
}

// Deploy deploys the system.
func (t Timed) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &timedDeployment{Timed: t}, nil
}

// timedDeployment is a deployment of Timed.
type timedDeployment struct {
	Timed
	next int
}

// Capabilities returns the zero value.
func (*timedDeployment) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }

// Close does nothing.
func (*timedDeployment) Close() error { return nil }

// Reset begins a run.
func (t *timedDeployment) Reset(context.Context, uint64, *lockstep.Outbox) error {
	t.next = 0
	return nil
}

// Do reports the events of the next moment.
func (t *timedDeployment) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	if t.next == len(t.Moments) {
		return nil
	}
	m := &t.Moments[t.next]
	t.next++
	out.Advance(trace.Time(m.At))
	for _, e := range m.Events {
		out.Event(e)
	}
	return nil
}
