package lockstep_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// dice are nodes that report what they draw: two numbers when their timer fires, one for each request, and a large
// one when they start.
type dice struct{ self lockstep.Node }

func (d *dice) Start(c *sim.Context[int]) {
	c.Emit("start", c.Rand().Uint64())
	c.SetTimeout(1)
}
func (d *dice) Receive(*sim.Context[int], lockstep.Node, int) {}
func (d *dice) Timeout(c *sim.Context[int]) {
	c.Emit("timer", [2]int{c.Source().IntN(1_000_000), c.Source().IntN(1_000_000)})
	c.SetTimeout(1)
}
func (d *dice) Request(c *sim.Context[int], id int32, _ string) {
	c.Emit("request", [2]int{int(id), c.Source().IntN(1_000_000)})
}

var dicePlan = lockstep.Plan{
	System: sim.Cluster[int]{Name: "dice", Nodes: 3, Requests: []string{"a", "b", "c"}, Draws: "numbers",
		New: func(n lockstep.Node, _ int) sim.Node[int] { return &dice{n} }},
	Strategy: strategy.Walk{Timer: 3, Request: 1, Crash: 1, Restart: 1, Steps: 40},
	Seed:     3,
}

// drawn lists the events of each step of a run.
func drawn(t *trace.Trace) []string {
	var all []string
	for _, r := range t.Records {
		text := r.Text
		for _, e := range r.Events {
			text += fmt.Sprintf(" %s %d %s", e.Type, e.Node, e.Text)
		}
		all = append(all, text)
	}
	return all
}

func record(t *testing.T, run int) *trace.Trace {
	t.Helper()
	tr, err := lockstep.Record(t.Context(), dicePlan, run)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// rerun reruns the run of a trace, by a script or by any scheduler.
func rerun(t *testing.T, of *trace.Trace, s lockstep.Scheduler) *trace.Trace {
	t.Helper()
	b, err := lockstep.NewRunnerFor(dicePlan, of)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tr, err := b.Record(t.Context(), of.Header.Run, s)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// undrawn is a trace without its draws.
func undrawn(t *trace.Trace) *trace.Trace {
	u := *t
	u.Records = slices.Clone(t.Records)
	for i := range u.Records {
		u.Records[i].Draws = nil
	}
	return &u
}

// Draws are recorded with their step. A run played without one step draws the same numbers in all others, whichever
// step is missing.
func TestDrawsBelongToTheirStep(t *testing.T) {
	for run := range 5 {
		of := record(t, run)
		if len(of.Records[0].Draws) != 3 {
			t.Fatalf("three nodes drew %v when they started", of.Records[0].Draws)
		}
		want := drawn(of)
		script := trace.ScriptOf(of)
		if got := drawn(rerun(t, of, lockstep.NewPlayer(script, nil))); !slices.Equal(got, want) {
			t.Fatalf("played it draws\n%q, recorded was\n%q", got, want)
		}
		for i := range script {
			player := lockstep.NewPlayer(slices.Delete(slices.Clone(script), i, i+1), nil)
			got, left := drawn(rerun(t, of, player)), []string{want[0]}
			for _, at := range player.Took() { // a node that did not crash does not restart
				if at++; at > i { // the missing step
					at++
				}
				left = append(left, want[at])
			}
			if !slices.Equal(got, left) {
				t.Fatalf("run %d without step %d it draws\n%q, want\n%q", run, i+1, got, left)
			}
		}
	}
}

// If a scheduler without the recording takes steps of the same names, they draw the numbers that the trace has for
// them. Otherwise draws follow from the seed and the step's name, and leaving out a step does not change those of
// other names.
func TestDrawsGoByNames(t *testing.T) {
	of := record(t, 1)
	var steps toy.Steps
	for _, r := range of.Records[1:] {
		steps = append(steps, r.Step)
	}
	info, _ := dicePlan.System.Describe()
	if got, want := drawn(rerun(t, of, steps.New(info))), drawn(of); !slices.Equal(got, want) {
		t.Fatalf("it draws\n%q, the trace has\n%q", got, want)
	}
	without := undrawn(of)
	all := drawn(rerun(t, without, steps.New(info)))
	if slices.Equal(all, drawn(of)) {
		t.Error("draws that were not recorded are those of the trace, so that nothing is tested")
	}
	if again := drawn(rerun(t, without, steps.New(info))); !slices.Equal(again, all) {
		t.Errorf("the second time it draws\n%q, the first\n%q", again, all)
	}
	at := slices.IndexFunc(steps, func(s lockstep.Step) bool { return s.Kind == trace.Request })
	fewer := drawn(rerun(t, without, slices.Delete(slices.Clone(steps), at, at+1).New(info)))
	if want := slices.Delete(slices.Clone(all), at+1, at+2); !slices.Equal(fewer, want) {
		t.Errorf("without a request it draws\n%q, want\n%q", fewer, want)
	}
}

// Recording a run does not change what it draws.
func TestRecordingDrawsNothing(t *testing.T) {
	plan := dicePlan
	var unrecorded []string
	plan.Spec = toy.Checker{OnStep: func(r *lockstep.Run) *lockstep.Finding {
		for _, e := range r.Events() {
			unrecorded = append(unrecorded, fmt.Sprint(e.Value))
		}
		return nil
	}}
	plan.Runs = 1
	enginetest.Explore(t, plan)
	i := 0
	for _, r := range record(t, 0).Records {
		for _, e := range r.Events {
			if e.Text != unrecorded[i] {
				t.Fatalf("recorded %s, not recorded %s", e.Text, unrecorded[i])
			}
			i++
		}
	}
	if i != len(unrecorded) {
		t.Errorf("%d events recorded, %d not recorded", i, len(unrecorded))
	}
}

// A script may set the draws of a step. Numbers that are too large are taken as a remainder, and draws that the
// script does not set are drawn.
func TestRecall(t *testing.T) {
	of := record(t, 0)
	script := trace.Script{
		{Step: toy.Timer1, Draws: trace.Drew(7, 3_000_005)},
		{Step: toy.Timer1, Draws: trace.Drew(9)},
	}
	got := rerun(t, of, lockstep.NewPlayer(script, nil))
	if d := got.Records[1].Events[0].Text; d != "[7 5]" {
		t.Errorf("it drew %s", d)
	}
	if d := got.Records[2].Draws; len(d) != 2 || d[0].N != 9 {
		t.Errorf("it drew %d", d)
	}
}

// The stream of a Source is that of math/rand/v2, in an engine and outside.
func TestChance(t *testing.T) {
	var c lockstep.Source
	c.Seed(nil, 1, 2)
	want := rand.New(rand.NewPCG(1, 2))
	through := rand.New(&c)
	for n := 1; n < 1000; n++ {
		if c.IntN(n) != want.IntN(n) || c.Uint64() != want.Uint64() || through.Float64() != want.Float64() {
			t.Fatal("another stream")
		}
	}
	seed := lockstep.RunSeed(lockstep.RunSeed(dicePlan.Seed, 0), 0)
	if first := record(t, 0).Records[0].Draws[1].N; first != rand.NewPCG(seed, 1).Uint64() {
		t.Errorf("node 2 draws %d first", first)
	}
}

func ExampleSource() {
	// Outside the engine it is a source like any other; a deployment's Reset gives the
	// outbox, and then every draw is recorded with its step.
	var c lockstep.Source
	c.Seed(nil, 1, 0)
	fmt.Println(c.IntN(6), c.IntN(6), c.IntN(6))
	// Output: 3 0 4
}
