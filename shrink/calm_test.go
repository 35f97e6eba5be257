package shrink_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// forgetful is a system in virtual time whose nodes send heartbeats ten times a second. A request is forwarded to node
// 3, which answers it and stores it a second later; a crash loses unstored requests. Client requests are numbered from
// a thousand on. Each client sends one request after another.
type forgetful struct {
	beats   int
	asked   map[trace.ID]int32 // by body
	holds   []trace.Time       // when node 3 received the request
	answers int
	up      lockstep.Nodes
}

const second = trace.Time(1e9)

func (*forgetful) Describe() (lockstep.Info, error) {
	return lockstep.Info{
		Name:        "forgetful",
		Nodes:       3,
		Pace:        second / 10,
		Types:       []string{"beat", "put", "ok"},
		Events:      []string{"holds", "late"},
		OneClock:    true,
		Supports:    trace.KindsOf(trace.Deliver, trace.Drop, trace.Crash, trace.Restart, trace.Request, trace.Wait),
		Determinism: lockstep.Deterministic,
	}, nil
}

func (*forgetful) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &forgetful{}, nil
}
func (*forgetful) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }
func (*forgetful) Close() error                        { return nil }

func (f *forgetful) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	*f = forgetful{asked: map[trace.ID]int32{}, up: trace.AllNodes(3)}
	for client := range int32(3) {
		f.offer(out, 1000*(client+1))
	}
	return nil
}

func (*forgetful) offer(out *lockstep.Outbox, id int32) {
	out.Offer(trace.Pending{ID: id, To: trace.AllNodes(3), Text: fmt.Sprint("put ", id)})
}

func (f *forgetful) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Wait:
		if next := trace.Time(f.beats+1) * second / 10; out.Now() >= next {
			out.WaitEnded(next)
			f.beats++
			for n := range f.up.All() {
				out.Broadcast(n, "beat", trace.Tag{})
			}
		}
	case trace.Request:
		f.asked[out.Send(s.Node, 3, "put", trace.Tag{})] = s.Request
	case trace.Crash:
		f.up = f.up.Without(s.Node)
		if s.Node == 3 {
			f.holds = slices.DeleteFunc(f.holds, func(at trace.Time) bool { return out.Now() < at+second })
		}
	case trace.Restart:
		f.up = f.up.With(s.Node)
		if s.Node == 3 {
			out.Event(
				lockstep.Event{
					Type:  "holds",
					Node:  3,
					Text:  fmt.Sprint(len(f.holds), " of ", f.answers),
					Value: f.answers - len(f.holds),
				},
			)
		}
	case trace.Deliver:
		switch m := out.Message(s.Msg); m.Type {
		case "put":
			f.holds = append(f.holds, out.Now())
			f.asked[out.Send(3, m.From, "ok", trace.Tag{})] = f.asked[m.Body]
		case "ok":
			f.answers++
			f.offer(out, f.asked[m.Body]+1)
		}
	}
	return nil
}

// kept is the property that node 3 loses at most but of the answered requests.
func kept(but int) lockstep.Spec {
	return spec.OnEvent("kept", "holds", func(_ *int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if e.Value.(int) <= but {
			return nil
		}
		return &lockstep.Finding{Property: "kept", Nodes: trace.NodesOf(3), Text: "node 3 holds " + e.Text}
	})
}

// busy is a walk that takes hundreds of steps.
var busy = strategy.Walk{Deliver: 40, Drop: 1, Request: 3, Wait: 8, Crash: 1, Restart: 1, Down: 1, Steps: 2000}

// long is a failing run of many steps.
func long(t *testing.T, plan lockstep.Plan) *trace.Trace {
	t.Helper()
	plan.Runs, plan.KeepGoing, plan.Keep = 200, true, 200
	for _, f := range toy.Find(t, plan) {
		if len(f.Trace.Records) > 400 {
			return f.Trace
		}
	}
	t.Fatal("no run that fails is long")
	return nil
}

// count counts the steps by kind.
func count(t *trace.Trace) map[trace.Kind]int {
	n := map[trace.Kind]int{}
	for _, r := range t.Records {
		n[r.Step.Kind]++
	}
	return n
}

// repeats checks that another player reproduces a run exactly.
func repeats(t *testing.T, plan lockstep.Plan, tr *trace.Trace) {
	t.Helper()
	plan.Strategy = nil
	if r, err := replay.Run(t.Context(), plan, tr); err != nil || r.Difference != "" {
		t.Errorf("the shrunk run is not repeated: %v, %v", r, err)
	}
}

// A long run in time shrinks to a short one with only client requests and faults; everything else is ordinary. The
// necessary part is known: a number of answers within a second before a crash, the crash, and the restart.
func TestCalm(t *testing.T) {
	tier.NotShort(t)
	for but := range 4 {
		plan := lockstep.Plan{System: &forgetful{}, Spec: kept(but), Strategy: busy, Seed: 1}
		found := long(t, plan)
		plan.Strategy = nil
		small, err := shrink.Run(t.Context(), plan, found, shrink.Options{Attempts: 1000})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(small.Was, "became", small.Is, "in", small.Attempts)
		n := count(small.Trace)
		if n[trace.Request] != but+1 || n[trace.Crash] != 1 || n[trace.Restart] != 1 || n[trace.Drop] != 0 {
			t.Errorf("%d answers are lost by as many requests, a crash and a restart: %v", but+1, n)
		}
		if small.Trace.Outcome.Finding.Property != "kept" {
			t.Errorf("the finding is %v", small.Trace.Outcome.Finding)
		}
		repeats(t, plan, small.Trace)
	}
}

// Shrinking a run in time is deterministic, and reports the correct size.
func TestCalmIsTheSameTwice(t *testing.T) {
	plan := lockstep.Plan{System: &forgetful{}, Spec: kept(1), Strategy: busy, Seed: 2}
	found := long(t, plan)
	plan.Strategy = nil
	var first *shrink.Shrunk
	for range 2 {
		small, err := shrink.Run(t.Context(), plan, found, shrink.Options{Attempts: 60})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = small
		}
		if d := trace.Difference(first.Trace, small.Trace); d != "" || small.Is != first.Is {
			t.Errorf("%s and %s: %s", first.Is, small.Is, d)
		}
		n := count(small.Trace)
		want := fmt.Sprintf("%d steps, %d messages lost, %d requests, %d fault", len(small.Trace.Records)-1,
			n[trace.Drop], n[trace.Request], n[trace.Crash])
		if !strings.HasPrefix(small.Is, want) {
			t.Errorf("it is said to have %s, and has %s", small.Is, want)
		}
	}
}
