package shrink

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// fickle is a system in virtual time in which everything depends on all earlier events and their order, as in a program
// with goroutines. This concerns the messages, their receivers, the times of internal events, and even the reason why a
// wait ended.
type fickle struct {
	past mix.Hash
	next trace.Time // time of the next internal event
	up   lockstep.Nodes
}

const fickleNodes = 3

func (*fickle) Describe() (lockstep.Info, error) {
	return lockstep.Info{
		Name:        "fickle",
		Nodes:       fickleNodes,
		Pace:        100,
		Types:       []string{"a", "b"},
		Events:      []string{"past"},
		OneClock:    true,
		Determinism: lockstep.Deterministic,
		Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Request, trace.Crash, trace.Restart, trace.Cut,
			trace.Heal, trace.Wait),
	}, nil
}

func (*fickle) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &fickle{}, nil
}
func (*fickle) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }
func (*fickle) Close() error                        { return nil }

func (f *fickle) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	*f = fickle{past: mix.Hash(1), next: 50, up: trace.AllNodes(fickleNodes)}
	for id := int32(1); id <= 400; id++ {
		out.Offer(trace.Pending{ID: id, To: f.up, Text: fmt.Sprint(id)})
	}
	return nil
}

func (f *fickle) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	f.past.Mix(uint64(s.Kind))
	from, sends := s.Node, 1
	switch s.Kind {
	case trace.Wait:
		switch {
		case out.Now() > f.next:
			out.WaitEnded(f.next)
		case out.Now() == f.next:
			f.past.Mix(1) // two events happen at once
		default:
			return nil
		}
		from, sends = lockstep.Node(1+f.next%fickleNodes), 2
		f.next += trace.Time(1 + uint64(f.past)%150)
	case trace.Deliver, trace.Drop:
		m := out.Message(s.Msg)
		f.past.Mix(uint64(m.ID))
		from, sends = m.To, int(uint64(f.past)%5/2)
	case trace.Crash:
		f.up = f.up.Without(s.Node)
	case trace.Restart:
		f.up = f.up.With(s.Node)
	}
	for i := range sends {
		if f.up.Has(from) {
			to := lockstep.Node(1 + (uint64(from)+uint64(f.past)%(fickleNodes-1))%fickleNodes)
			out.Send(from, to, string('a'+rune(uint64(f.past)>>8&1)), trace.Tag{})
			f.past.Mix(uint64(i))
		}
	}
	out.Event(lockstep.Event{Type: "past", Node: 1, Text: fmt.Sprintf("%x", uint64(f.past))})
	return nil
}

// Without removals, the timetable of a run reproduces the run itself. This includes the order of simultaneous events
// and the length of waits. It also includes which of two equal messages is lost, and which of the messages sent at once
// is late.
func TestTheWholeTimetableIsTheRun(t *testing.T) {
	const steps = 600
	fails := &lockstep.Finding{Property: "checker", Text: "it ends here"}
	checkers := map[string]toy.Checker{
		"within": {OnStep: func(r *lockstep.Run) *lockstep.Finding {
			if r.Steps() < steps {
				return nil
			}
			return fails
		}},
		"at the end": {AtEnd: func(*lockstep.Run) *lockstep.Finding { return fails }},
	}
	walk := strategy.Walk{
		Deliver: 60,
		Drop:    6,
		Request: 6,
		Wait:    15,
		Crash:   2,
		Restart: 6,
		Cut:     2,
		Heal:    6,
		Down:    1,
		Steps:   steps,
	}
	for name, checker := range checkers {
		for seed := range uint64(10) {
			plan := lockstep.Plan{System: &fickle{}, Spec: checker, Strategy: walk, Seed: seed, Runs: 1}
			found := toy.Find(t, plan)[0].Trace
			if d := trace.Difference(found, again(t, plan, found)); d != "" {
				t.Errorf("%s, seed %d: %s", name, seed, d)
			}
		}
	}
}

// again returns the run of the timetable of a run.
func again(t *testing.T, plan lockstep.Plan, found *trace.Trace) *trace.Trace {
	t.Helper()
	runner, err := lockstep.NewRunnerFor(plan, found)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	script := actions(found)
	c := &clock{Player: lockstep.NewPlayer(trace.Script(script), nil)}
	if _, err := runner.Run(t.Context(), found.Header.Run, c); err != nil {
		t.Fatal(err)
	}
	rerun, err := runner.Record(t.Context(), found.Header.Run, &timetabler{timetable: c.timetable(script, 1000)})
	if err != nil {
		t.Fatal(err)
	}
	return rerun
}
