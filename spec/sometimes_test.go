package spec_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	votes "github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// What happens in some runs is counted, and what happens in none is a problem of the campaign and of no run, whatever
// the number of workers; also inside of All and With.
func TestSometimes(t *testing.T) {
	crashed := func(run *lockstep.Run) bool { return run.Last().Kind == trace.Crash }
	goals := spec.All(spec.Sometimes("a node crashes", crashed),
		spec.Sometimes("all nodes are down", func(run *lockstep.Run) bool { return run.Up() == 0 }),
		spec.SometimesEvent("something is decided", smr.Output),
		spec.OptionalUnless(spec.SometimesEvent("something is forgotten", "forget"), "nodes"),
		spec.OptionalUnless(spec.SometimesEvent("something is remembered", "remember"), "memory"))
	for _, workers := range []int{1, 3} {
		plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: spec.All(smr.Prefix, goals), Workers: workers,
			Strategy: strategy.Walk{Deliver: 300, Timer: 30, Crash: 1, Steps: 300}, Runs: 40}
		r, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Unreached(); !slices.Equal(got, []string{"all nodes are down", "something is forgotten"}) {
			t.Errorf("unreached %q; %+v, %+v", got, r.Checked, r.Events)
		}
		c := r.Checked[1]
		if c.Name != "a node crashes" || c.Runs < 5 || c.Runs == r.Runs || c.N < c.Runs || len(r.Unchecked()) > 0 {
			t.Errorf("%+v; unchecked %q", c, r.Unchecked())
		}
		kinds := ""
		for _, p := range r.Problems() {
			kinds += p.Kind + " " + p.Severity + " " + p.Property + "; "
		}
		if kinds != "unreached warning all nodes are down; unreached warning something is forgotten; " ||
			r.Verdict() != trace.Pass || !strings.Contains(strings.Join(r.VacuousParts(), ";"), "forgotten") {
			t.Errorf("%s: %s, %q", r.Verdict(), kinds, r.VacuousParts())
		}
	}
}

// A step counts for a role if it hits a node that played the role before it.
func TestSometimesStep(t *testing.T) {
	goals := spec.All(
		spec.SometimesStep("crash", trace.Crash, ""), spec.SometimesStep("leader crashes", trace.Crash, votes.RoleLeader),
		spec.SometimesStep("leader is cut off", trace.Cut, votes.RoleLeader),
		spec.SometimesStep("boss crashes", trace.Crash, "boss"),
	)
	var want [3]int // by looking
	leaders := lockstep.Nodes(0)
	look := spec.Sometimes("look", func(run *lockstep.Run) bool {
		s := run.Last()
		if s.Kind == trace.Start {
			leaders = 0
		}
		switch {
		case s.Kind == trace.Crash && leaders.Has(s.Node):
			want[1]++
			fallthrough
		case s.Kind == trace.Crash:
			want[0]++
		case s.Kind == trace.Cut:
			for n := range leaders.All() {
				if s.From.Has(n) && s.From.Len() < s.To.Len() || s.To.Has(n) && s.To.Len() <= s.From.Len() {
					want[2]++
					break
				}
			}
		}
		leaders = run.Playing(votes.RoleLeader)
		return true
	})
	plan := lockstep.Plan{System: votes.Cluster{Nodes: 5, Requests: 8}, Spec: spec.All(goals, look), Runs: 50, Workers: 1,
		Strategy: strategy.Walk{Deliver: 10, Timer: 2, Request: 1, Crash: 1, Restart: 1, Cut: 1, Heal: 1, Steps: 300}}
	r, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range want {
		if c := r.Checked[i]; c.N != n || n == 0 {
			t.Errorf("%s %d times, want %d", c.Name, c.N, n)
		}
	}
	if got := r.Unreached(); !slices.Equal(got, []string{"boss crashes"}) {
		t.Errorf("%q", got)
	}
}

func ExampleSometimesStep() {
	goal := spec.SometimesStep("a node restarts", trace.Restart, "")
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: goal, Runs: 10,
		Strategy: strategy.Walk{Deliver: 3, Timer: 1, Crash: 1, Restart: 1, Steps: 100}}
	result, err := lockstep.Explore(context.Background(), plan)
	fmt.Println(err, result.Unreached())
	// Output: <nil> []
}

func ExampleSometimes() {
	goal := spec.Sometimes("a node restarts", func(run *lockstep.Run) bool { return run.Last().Kind == trace.Restart })
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: spec.All(smr.Prefix, goal), Strategy: strategy.DefaultPOS,
		Runs: 10}
	result, err := lockstep.Explore(context.Background(), plan)
	fmt.Println(err, result.Verdict())
	for _, p := range result.Problems() {
		fmt.Println(p.Text)
	}
	// Output:
	// <nil> pass
	// "a node restarts" is expected at least once, and happened in none of 10 runs
}

func ExampleSometimesEvent() {
	goal := spec.SometimesEvent("a value is decided", smr.Output)
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: goal, Strategy: strategy.DefaultPOS, Runs: 10}
	result, err := lockstep.Explore(context.Background(), plan)
	fmt.Println(err, result.Unreached(), result.Checked[0].Runs > 0)
	// Output: <nil> [] true
}
