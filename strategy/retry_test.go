package strategy_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// stubborn is a system whose client asks again, under the same number, until it was answered
// the fifth time.
type stubborn struct{ asked *int }

func (stubborn) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "stubborn", Nodes: 3, Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Alarm,
		trace.Request, trace.Cut, trace.Heal, trace.Crash, trace.Restart)}, nil
}
func (s stubborn) Deploy(*lockstep.Place) (lockstep.Deployment, error) { return s, nil }
func (stubborn) Abilities() (a lockstep.Abilities)                     { return a }
func (stubborn) Close() error                                          { return nil }

func (s stubborn) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	*s.asked = 0
	s.offer(out)
	for n := lockstep.Node(1); n <= 3; n++ {
		out.SetAlarm(n, 10)
	}
	return nil
}

func (stubborn) offer(out *lockstep.Outbox) {
	out.Offer(lockstep.Pending{ID: 7, To: trace.AllNodes(3), Text: "please"})
}

func (s stubborn) Do(_ context.Context, step *lockstep.Step, out *lockstep.Outbox) error {
	switch step.Kind {
	case trace.Request:
		if *s.asked++; *s.asked < 5 {
			s.offer(out)
		}
		out.Send(step.Node, step.Node%3+1, "Ask", lockstep.Tag{})
	case trace.Alarm:
		out.SetAlarm(step.Node, out.Now()+10)
	}
	return nil
}

// A request that waits again under its number is given again, by every strategy.
func TestRequestsAreRetried(t *testing.T) {
	for _, k := range strategy.All() {
		if k.Name == "partition" { // it gives as many as it is told
			continue
		}
		asked, most := 0, 0
		spec := atEnd(func(*lockstep.Run) { most = max(most, asked) })
		_, err := lockstep.Explore(t.Context(), lockstep.Plan{System: stubborn{&asked}, Strategy: k.Default, Spec: spec, Runs: 200, Steps: 300, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]int{"uniform": 4, "lossy": 4}[k.Name]; most < max(want, 5) && want == 0 || most < want {
			t.Errorf("%s: the request was given %d times at most", k.Name, most)
		}
	}
}

// atEnd is a spec that calls a function at the end of each run.
type atEnd func(*lockstep.Run)

func (atEnd) Properties() []string                    { return nil }
func (f atEnd) New(lockstep.Info) lockstep.Monitor    { return f }
func (atEnd) Reset()                                  {}
func (atEnd) Step(*lockstep.Run) *lockstep.Finding    { return nil }
func (f atEnd) End(r *lockstep.Run) *lockstep.Finding { f(r); return nil }
func (atEnd) Conclude(bool) (c lockstep.Conclusion)   { return c }
