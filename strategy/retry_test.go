package strategy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// stubborn is a system whose client retries a request, under the same number, until the fifth attempt is answered.
type stubborn struct{ asked *int }

func (stubborn) Describe() (lockstep.Info, error) {
	return lockstep.Info{
		Name:  "stubborn",
		Nodes: 3,
		Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Timer,
			trace.Request, trace.Cut, trace.Heal, trace.Crash, trace.Restart),
	}, nil
}
func (s stubborn) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return s, nil
}
func (stubborn) Capabilities() (a lockstep.Capabilities) { return a }
func (stubborn) Close() error                            { return nil }

func (s stubborn) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	*s.asked = 0
	s.offer(out)
	for n := lockstep.Node(1); n <= 3; n++ {
		out.SetTimer(n, 10)
	}
	return nil
}

func (stubborn) offer(out *lockstep.Outbox) {
	out.Offer(trace.Pending{ID: 7, To: trace.AllNodes(3), Text: "please"})
}

func (s stubborn) Do(_ context.Context, step *lockstep.Step, out *lockstep.Outbox) error {
	switch step.Kind {
	case trace.Request:
		if *s.asked++; *s.asked < 5 {
			s.offer(out)
		}
		out.Send(step.Node, step.Node%3+1, "Ask", trace.Tag{})
	case trace.Timer:
		out.SetTimer(step.Node, out.Now()+10)
	}
	return nil
}

// Every strategy gives a retried request again under its number.
func TestRequestsAreRetried(t *testing.T) {
	for _, k := range strategy.All() {
		if k.Name == "partition" { // it gives a fixed number of requests
			continue
		}
		asked, most := 0, 0
		spec := atEnd(func(*lockstep.Run) { most = max(most, asked) })
		_, err := lockstep.Explore(t.Context(),
			lockstep.Plan{System: stubborn{&asked}, Strategy: k.Default, Spec: spec, Runs: 200, Steps: 300, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]int{"uniform": 4, "lossy": 4}[k.Name]; most < max(want, 5) && want == 0 || most < want {
			t.Errorf("%s: the request was given %d times at most", k.Name, most)
		}
	}
}

// refused is a system whose client retries without success, while nodes send messages and their timers fire.
type refused struct {
	stubborn
	silent bool // nodes send no messages
}

func (r refused) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) { return r, nil }

func (r refused) Do(_ context.Context, step *lockstep.Step, out *lockstep.Outbox) error {
	switch step.Kind {
	case trace.Request:
		r.offer(out)
	case trace.Timer:
		out.SetTimer(step.Node, out.Now()+10)
		if !r.silent {
			out.Send(step.Node, step.Node%3+1, "Hello", trace.Tag{})
		}
	}
	return nil
}

// Under pctcp, a client retries if no undelayed event is possible, and not twice before a timer has fired. It neither
// takes the steps of others nor stops time.
func TestClientsWaitBeforeTheyRetry(t *testing.T) {
	given, fired, last := 0, 0, 0
	watch := perStep(func(run *lockstep.Run) {
		switch run.Last().Kind {
		case trace.Start:
			given, fired, last = 0, 0, 0
		case trace.Timer:
			fired++
		case trace.Request:
			if given++; given > 1 && (fired == last || len(run.FreeMessages()) > 0) {
				t.Errorf("step %d: given again after %d timers and %d before, with %v in flight", run.Steps(), fired,
					last, run.FreeMessages())
			}
			last = fired
		}
	})
	for seed := range uint64(20) {
		enginetest.Explore(
			t,
			lockstep.Plan{
				System:   refused{stubborn{new(int)}, false},
				Strategy: strategy.PCTCP{Depth: 1, Events: 300, Steps: 300},
				Spec:     watch,
				Seed:     seed,
				Runs:     1,
			},
		)
		if given < 20 || fired < 50 {
			t.Errorf("seed %d: given %d times, %d timers", seed, given, fired)
		}
	}
}

// A request comes after the step that offered it. Successive attempts of one client therefore form one chain, and not
// one chain each.
func TestAttemptsAreAChain(t *testing.T) {
	g := enginetest.Explore(
		t,
		lockstep.Plan{
			System:   refused{stubborn{new(int)}, true},
			Strategy: strategy.PCTCP{Depth: 2, Events: 20, Steps: 60},
			Runs:     50,
		},
	).Guarantee
	if want := "w=4,"; !strings.Contains(g.Assumes[0], want) { // three timers and the request
		t.Errorf("%s, want %s", g.Assumes[0], want)
	}
}

// atEnd is a spec that calls a function at the end of each run.
type atEnd func(*lockstep.Run)

func (atEnd) Properties() []string                    { return nil }
func (a atEnd) New(lockstep.Info) lockstep.Monitor    { return a }
func (atEnd) Reset()                                  {}
func (atEnd) Step(*lockstep.Run) *lockstep.Finding    { return nil }
func (a atEnd) End(r *lockstep.Run) *lockstep.Finding { a(r); return nil }
func (atEnd) EventsOnly() bool                        { return false }
func (atEnd) Conclude(bool) (c lockstep.Conclusion)   { return c }
