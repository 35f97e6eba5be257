package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/gen"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// forgetful is a store that loses values of y above 4.
type forgetful struct{ values map[string]int }

func (f *forgetful) Start(*sim.Context[int])                       { f.values = map[string]int{} }
func (f *forgetful) Receive(*sim.Context[int], lockstep.Node, int) {}
func (f *forgetful) Timeout(*sim.Context[int])                     {}
func (f *forgetful) Request(c *sim.Context[int], _ int32, text string) {
	o := did{}
	_, _ = fmt.Sscan(text, &o.op, &o.key, &o.value) // a read has no value
	if o.op == "get" {
		o.value = f.values[o.key]
	} else if f.values[o.key] = o.value; o.key == "y" && o.value > 4 {
		delete(f.values, o.key)
	}
	c.Emit("did", o)
}

// did is an executed operation.
type did struct {
	op, key string
	value   int
}

// kept checks a single store: a read returns the last written value.
var kept = spec.OnEvent(
	"kept",
	"did",
	func(last *map[string]int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		o := e.Value.(did)
		if *last == nil {
			*last = map[string]int{}
		}
		if was := (*last)[o.key]; o.op == "get" && o.value != was {
			return &lockstep.Finding{
				Property: "kept",
				Text:     fmt.Sprintf("%s is %d, it was set to %d", o.key, o.value, was),
			}
		}
		(*last)[o.key] = o.value
		return nil
	},
)

// operations generates writes to three keys, and reads.
var operations = gen.Weighted(
	gen.Case(1, func(s gen.Source) string { return "get " + gen.From("x", "y", "z")(s) }),
	gen.Case(1, func(s gen.Source) string {
		return fmt.Sprintf("put %s %d", gen.From("x", "y", "z")(s), gen.Int(1, 1000)(s))
	}))

var store = sim.Cluster[int]{Name: "store", Nodes: 1, Generate: operations, GeneratedRequests: 50,
	New: func(lockstep.Node, int) sim.Node[int] { return &forgetful{} }}

// Generated requests shrink with the run, for several strategies: there are fewer, and they are as simple as the bug
// allows.
func TestGeneratedShrink(t *testing.T) {
	for _, s := range []lockstep.Strategy{strategy.DefaultWalk, strategy.DefaultUniform} {
		for seed := range uint64(5) {
			plan := lockstep.Plan{System: store, Strategy: s, Spec: kept, Seed: seed, Runs: 200}
			small, err := shrink.Run(t.Context(), plan, toy.Find(t, plan)[0].Trace, shrink.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var asked []string
			for _, r := range small.Trace.Records {
				if r.Step.Kind == trace.Request {
					asked = append(asked, r.Text)
				}
			}
			if got := fmt.Sprint(asked); got != "[client->1 put y 5 client->1 get y]" {
				t.Errorf("%s, seed %d: %s", s, seed, got)
			}
		}
	}
}

// Requests are generated, and a finding is shrunk to the two necessary ones.
func ExampleCluster_generate() {
	plan := lockstep.Plan{System: store, Strategy: strategy.DefaultWalk, Spec: kept}
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	small, err := shrink.Run(context.Background(), plan, result.First().Trace, shrink.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range small.Trace.Records[1:] {
		fmt.Println(r.Text)
	}
	fmt.Println(small.Trace.Outcome.Finding)
	// Output:
	// client->1 put y 5
	// client->1 get y
	// kept: y is 0, it was set to 5
}
