package strategy_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// noFinding is a base for monitors; it reports no finding.
type noFinding struct{}

func (noFinding) Properties() []string                 { return nil }
func (noFinding) Reset()                               {}
func (noFinding) Step(*lockstep.Run) *lockstep.Finding { return nil }
func (noFinding) End(*lockstep.Run) *lockstep.Finding  { return nil }
func (noFinding) EventsOnly() bool                     { return false }
func (noFinding) Conclude(bool) lockstep.Conclusion    { return lockstep.Conclusion{} }

// watch is a spec that counts the steps of each kind.
type watch struct {
	noFinding
	kinds map[trace.Kind]int
}

func (w watch) New(lockstep.Info) lockstep.Monitor { return w }
func (w watch) Step(r *lockstep.Run) *lockstep.Finding {
	w.kinds[r.Last().Kind]++
	return nil
}

// The walk takes every kind of step with a weight, and no other.
func TestWalkTakesWhatHasWeight(t *testing.T) {
	all := strategy.Walk{
		Deliver:   10,
		Drop:      1,
		Duplicate: 1,
		Timer:     1,
		Request:   1,
		Crash:     1,
		Restart:   1,
		Cut:       1,
		Heal:      1,
		Steps:     300,
	}
	few := strategy.Walk{Deliver: 1, Timer: 1, Steps: 300}
	for _, s := range []strategy.Walk{all, few} {
		w := watch{kinds: map[trace.Kind]int{}}
		result, err := lockstep.Explore(context.Background(),
			lockstep.Plan{System: smr.Cluster{Nodes: 5, Requests: 8}, Strategy: s, Spec: w, Runs: 50, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for k := trace.Deliver; k <= trace.Wait; k++ {
			want := k == trace.Deliver || k == trace.Timer || s == all && k != trace.Replace && k != trace.Wait
			if got := w.kinds[k] > 0; got != want {
				t.Errorf("%v: %s taken %d times in %d runs", s, k, w.kinds[k], result.Runs)
			}
		}
	}
}

// A walk takes as many crashes as allowed in a run, and counts from zero in the next.
func TestWalkCountsCrashes(t *testing.T) {
	for _, most := range []int{0, 1, 3} {
		w := watch{kinds: map[trace.Kind]int{}}
		const runs = 20
		s := strategy.Walk{Deliver: 1, Timer: 1, Crash: 5, Restart: 5, Crashes: most, Steps: 300}
		if _, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{System: smr.Cluster{Nodes: 5, Requests: 8}, Strategy: s, Spec: w, Runs: runs, Workers: 1},
		); err != nil {
			t.Fatal(err)
		}
		if got := w.kinds[trace.Crash]; most > 0 && got != most*runs || most == 0 && got <= 3*runs {
			t.Errorf("%v: %d crashes in %d runs", s, got, runs)
		}
	}
}

// With a loss of 0 baseline and lossy lose no message, and with 1 all messages.
func TestLossAtItsEnds(t *testing.T) {
	for _, c := range []struct {
		s               lockstep.Strategy
		deliver, losses bool
	}{
		{strategy.Baseline{Drop: 0, Steps: 100}, true, false},
		{strategy.Baseline{Drop: 1, Steps: 100}, false, true},
		{strategy.Lossy{Rounds: 12, Loss: 0}, true, false},
		{strategy.Lossy{Rounds: 12, Loss: 1}, false, true},
		{strategy.Uniform{Rounds: 12, Period: 4}, true, false},
		{strategy.Uniform{Rounds: 12, Period: 1, Isolations: 12 * 3, Sampler: strategy.Paper}, false, false},
		{strategy.Lossy{Rounds: 12, Period: 1, Losses: 12 * 9, Sampler: strategy.Paper}, false, true},
	} {
		w := watch{kinds: map[trace.Kind]int{}}
		if _, err := lockstep.Explore(context.Background(),
			lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: c.s, Spec: w, Runs: 20, Workers: 1}); err != nil {
			t.Fatal(err)
		}
		if (w.kinds[trace.Deliver] > 0) != c.deliver || (w.kinds[trace.Drop] > 0) != c.losses {
			t.Errorf("%v: %v", c.s, w.kinds)
		}
	}
}

// Every enumerates the space: each execution occurs once in as many runs as there are executions.
func TestEveryMakesAllExecutions(t *testing.T) {
	s := strategy.Uniform{Period: 2, Isolations: 2, Rounds: 4, Sampler: strategy.Every}
	size := int(s.Executions(3).Int64())
	seen := map[string]bool{}
	plan := lockstep.Plan{
		System:    smr.Cluster{Nodes: 3},
		Strategy:  s,
		Spec:      alwaysFails{},
		Runs:      size,
		KeepGoing: true,
		Keep:      size,
	}
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range result.Failures {
		text := ""
		for _, r := range f.Trace.Rounds {
			text += r.Kernel.String() + ";"
		}
		seen[text] = true
	}
	if len(seen) != size || size != 73 { // 1 + 6*2 + 15*4
		t.Errorf("%d different executions of %d", len(seen), size)
	}
}

// alwaysFails reports a finding at the end of every run, so that every run is recorded.
type alwaysFails struct{ noFinding }

func (alwaysFails) Properties() []string               { return []string{"never"} }
func (alwaysFails) New(lockstep.Info) lockstep.Monitor { return alwaysFails{} }
func (alwaysFails) End(*lockstep.Run) *lockstep.Finding {
	return &lockstep.Finding{Property: "never", Text: "as asked"}
}

func TestParse(t *testing.T) {
	for _, k := range strategy.All() {
		s, err := strategy.Parse(k.Name)
		if err != nil || s != k.Default {
			t.Errorf("%s alone: %v, %v", k.Name, s, err)
		}
		again, err := strategy.Parse(s.String())
		if err != nil || again != s {
			t.Errorf("%s does not survive writing and reading: %v, %v", s, again, err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{
			"wander",
			`unknown strategy "wander": one of uniform, lossy, partition, pctcp, pos, queues, delay, systematic, guided, walk, baseline`,
		},
		{
			"uniform:perid=3",
			`strategy uniform: unknown key "perid": allowed are period, isolations, rounds, phases, sampler, isolated, by`,
		},
		{"uniform:period=x", `strategy uniform: period=x: the value must be a whole number`},
		{"uniform:period", `strategy uniform: "period" is not of the form key=value`},
		{
			"uniform:sampler=best",
			`strategy uniform: sampler=best: the value must be one of exact, paper, every, partial, effects, distinct`,
		},
		{"lossy:loss=much", `strategy lossy: loss=much: the value must be a number`},
	} {
		if _, err := strategy.Parse(c.text); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

func ExampleParse() {
	s, err := strategy.Parse("uniform:isolations=2,rounds=12")
	fmt.Println(s, err)
	_, err = strategy.Parse("uniform:isolation=2")
	fmt.Println(err)
	// Output:
	// uniform:isolations=2,rounds=12 <nil>
	// strategy uniform: unknown key "isolation": allowed are period, isolations, rounds, phases, sampler, isolated, by
}

// guarantee returns the guarantee of a strategy for a system.
func guarantee(s lockstep.Strategy, system lockstep.System) lockstep.Guarantee {
	info, err := system.Describe()
	if err != nil {
		panic(err)
	}
	terms, err := s.Fit(info)
	if err != nil {
		panic(err)
	}
	return terms.Guarantee
}

func ExampleUniform() {
	u := strategy.Uniform{Period: 4, Isolations: 4, Rounds: 16}
	g := guarantee(u, smr.Cluster{Nodes: 3})
	fmt.Println(g)
	fmt.Printf("10000 runs: %.3f; for 0.95 it takes %d runs\n", g.After(10_000), g.Runs(0.95))
	u.Sampler = strategy.Paper
	fmt.Println(guarantee(u, smr.Cluster{Nodes: 3}))
	// Output:
	// one run hits a given 4-periodic uniform execution of 16 rounds with at most 4 isolations with probability at least 7.05e-06 (there are 141905)
	// 10000 runs: 0.068; for 0.95 it takes 425108 runs
	// one run hits a given 4-periodic uniform execution of 16 rounds with exactly 4 isolations with probability at least 1.56e-06 (there are 126720)
}

func ExampleUniform_Executions() {
	fmt.Println(strategy.Uniform{Period: 4, Isolations: strategy.Unbounded, Rounds: 16}.Executions(3))
	// Output: 244140625
}

func ExampleSpaceSizes() {
	sizes, _ := strategy.SpaceSizes(3, 16, 4, 4, 3)
	for _, s := range sizes[3:6] {
		fmt.Println(s.Set, s.Paper, s.Exact)
	}
	// Output:
	// arbitrary uniform executions 281474976710656 281474976710656
	// k-periodic uniform executions 16777216 244140625
	// d-bounded k-periodic uniform executions 194580 126720
}

func ExampleLossy() {
	// Break up to three links, each until the end of its phase of four rounds.
	l := strategy.Lossy{Rounds: 8, Period: 4, Losses: 3}
	fmt.Println(l, guarantee(l, smr.Cluster{Nodes: 3}).Space)
	// Output: lossy:rounds=8,loss=0,period=4,losses=3 54745
}

func ExampleWalk() {
	w := strategy.DefaultWalk
	w.Crash, w.Restart = 1, 1
	fmt.Println(w)
	// Output: walk:deliver=10,drop=1,timer=1,request=1,crash=1,restart=1,steps=500
}

func ExampleBaseline() {
	fmt.Println(strategy.Baseline{Drop: 0.125, Steps: 200})
	// Output: baseline:drop=0.125,steps=200
}

func ExampleAll() {
	for _, k := range strategy.All()[:2] {
		fmt.Println(k.Name, k.Options()[0].Key)
	}
	// Output:
	// uniform period
	// lossy rounds
}
