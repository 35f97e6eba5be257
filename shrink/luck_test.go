package shrink_test

import (
	"context"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// chancy is the forgetful system in which everything depends on all earlier events, as it does in real servers. Each
// request and its time change the pseudorandom state of all later events. Only with a small probability does a crash of
// node 3 lose a request. In the idle variant, a request damages the store with a small probability. Node 3 detects that
// some seconds later, while it is idle.
type chancy struct {
	forgetful
	one    uint64 // the loss or damage has probability 1/one
	idle   bool   // the variant with damage that is detected in a wait
	luck   mix.Hash
	doomed trace.Time // when it is detected
}

func (c *chancy) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &chancy{one: c.one, idle: c.idle}, nil
}

func (c *chancy) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	c.luck, c.doomed = 0, 0
	return c.forgetful.Reset(ctx, seed, out)
}

func (c *chancy) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	bad := false
	switch s.Kind {
	case trace.Request, trace.Crash:
		c.luck.Mix(uint64(s.Request)<<8 | uint64(s.Node))
		c.luck.Mix(uint64(out.Now()))
		bad = uint64(c.luck)%c.one == 0
	}
	switch {
	case c.idle && bad && s.Kind == trace.Request:
		c.doomed = out.Now() + 8*second
	case c.idle && s.Kind == trace.Wait && c.doomed > 0 && out.Now() >= c.doomed:
		out.Event(lockstep.Event{Type: "late", Node: 3})
	case !c.idle && !bad && s.Kind == trace.Crash:
		holds := c.holds
		defer func() { c.holds = holds }()
	}
	return c.forgetful.Do(ctx, s, out)
}

// noticed is the property that no damage is detected.
var noticed = spec.OnEvent("noticed", "late", func(_ *int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	return &lockstep.Finding{Property: "noticed", Nodes: trace.NodesOf(e.Node), Text: "it is noticed"}
})

// crowded is a walk with many requests; harmless has relatively more of them and no faults.
var (
	crowded  = strategy.Walk{Deliver: 800, Request: 120, Wait: 160, Crash: 3, Restart: 40, Down: 1, Steps: 3000}
	harmless = strategy.Walk{Deliver: 400, Request: 120, Wait: 100, Steps: 3000}
)

// Runs that fail by chance can be shrunk, although every removal changes the chance. The result depends on chance, too,
// so the test bounds the sum over ten runs.
func TestLuck(t *testing.T) {
	tier.NotShort(t)
	for i, c := range []struct {
		name   string
		system *chancy
		spec   lockstep.Spec
		walk   strategy.Walk
		most   int // acts of ten runs
	}{
		{"seen in the end", &chancy{one: 12}, kept(0), crowded, 40},
		{"seen in a wait", &chancy{one: 100, idle: true}, noticed, crowded, 20},
		{"of many requests", &chancy{one: 400, idle: true}, noticed, harmless, 55},
	} {
		if i > 0 && !tier.Full() {
			break
		}
		acts := 0
		plan := lockstep.Plan{
			System:    c.system,
			Spec:      c.spec,
			Strategy:  c.walk,
			Seed:      1,
			Runs:      3000,
			KeepGoing: true,
			Keep:      3000,
		}
		found := slices.DeleteFunc(toy.Find(t, plan), func(f lockstep.Failure) bool { return len(f.Trace.Records) < 400 })
		if plan.Strategy = nil; len(found) < 10 {
			t.Fatalf("%s: of the runs that fail only %d are long", c.name, len(found))
		}
		for _, f := range found[:10] {
			small, err := shrink.Run(t.Context(), plan, f.Trace, shrink.Options{Attempts: 300})
			if err != nil {
				t.Fatal(err)
			}
			n := count(small.Trace)
			acts += n[trace.Request] + n[trace.Crash]
			repeats(t, plan, small.Trace)
		}
		if t.Log(c.name, acts); acts > c.most {
			t.Errorf("%s: the ten runs still have %d requests and crashes, more than %d", c.name, acts, c.most)
		}
	}
}
