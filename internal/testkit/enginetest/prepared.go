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
func (e Prepared) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "prepared", Nodes: 3, Supports: trace.KindsOf(trace.Request)}, nil
}

// Deploy deploys the system.
func (e Prepared) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) { return e, nil }

// Capabilities returns the zero value.
func (e Prepared) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }

// Close does nothing.
func (e Prepared) Close() error { return nil }

// Reset offers the single step.
func (e Prepared) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	out.Offer(trace.Pending{ID: 1, To: trace.NodesOf(1), Text: "report"})
	return nil
}

// Do reports the events.
func (e Prepared) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	for _, event := range e {
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
func (s Timed) Describe() (lockstep.Info, error) {
	return lockstep.Info{
		Name:     "timed",
		Nodes:    3,
		Options:  s.Options,
		Supports: trace.KindsOf(trace.Wait),
		OneClock: true,
		Pace:     1,
	}, nil
}

// Deploy deploys the system.
func (s Timed) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &timedDeployment{Timed: s}, nil
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
func (s *timedDeployment) Reset(context.Context, uint64, *lockstep.Outbox) error {
	s.next = 0
	return nil
}

// Do reports the events of the next moment.
func (s *timedDeployment) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	if s.next == len(s.Moments) {
		return nil
	}
	m := &s.Moments[s.next]
	s.next++
	out.Advance(trace.Time(m.At))
	for _, e := range m.Events {
		out.Event(e)
	}
	return nil
}
