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
func (e Told) Deploy(context.Context, *lockstep.Place) (lockstep.Deployment, error) { return e, nil }

// Abilities are none.
func (e Told) Abilities() lockstep.Abilities { return lockstep.Abilities{} }

// Close has nothing to close.
func (e Told) Close() error { return nil }

// Reset offers the one step.
func (e Told) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	out.Offer(trace.Pending{ID: 1, To: trace.NodesOf(1), Text: "tell"})
	return nil
}

// Do tells the events.
func (e Told) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	for _, event := range e {
		out.Event(event)
	}
	return nil
}

// Timed is a system that tells prepared events at their times, those of one moment in each of its steps: for specs of what is so in
// the end, where the last steps are those of a settling stage.
type Timed struct {
	Options map[string]string
	Moments []Moment
}

// Moment is a time of a run, from its beginning, and what is told then.
type Moment struct {
	At     time.Duration
	Events []lockstep.Event
}

// Describe says what it is.
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

// Deploy makes one.
func (s Timed) Deploy(context.Context, *lockstep.Place) (lockstep.Deployment, error) {
	return &telling{Timed: s}, nil
}

// telling is such a system that runs.
type telling struct {
	Timed
	next int
}

// Abilities are none.
func (*telling) Abilities() lockstep.Abilities { return lockstep.Abilities{} }

// Close has nothing to close.
func (*telling) Close() error { return nil }

// Reset begins a run.
func (s *telling) Reset(context.Context, uint64, *lockstep.Outbox) error {
	s.next = 0
	return nil
}

// Do tells the events of the next moment.
func (s *telling) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
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
