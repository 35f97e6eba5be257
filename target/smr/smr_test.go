package smr_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

var bug = lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix, Workers: 1}

// size is the size of a violation: phases, rounds with messages, isolations.
type size [3]int

func sizeOf(t *trace.Trace) size {
	active := map[int]bool{}
	for _, r := range t.Records {
		if r.Step.Kind == trace.Deliver || r.Step.Kind == trace.Drop {
			active[r.Round] = true
		}
	}
	s := size{1: len(active)}
	for i, r := range t.Rounds {
		s[0] = r.Phase
		last := i+1 == len(t.Rounds) || t.Rounds[i+1].Phase != r.Phase
		if last { // a node isolated at the end of a phase was isolated in it
			s[2] += t.Header.Nodes - r.Kernel.Len()
		}
	}
	return s
}

// shortest is the shortest violation of the buggy protocol on three nodes: three phases, ten rounds with messages,
// three isolations.
var shortest = size{3, 10, 3}

// All executions of two phases are harmless. Among all those of three phases with at most five isolations the
// shortest violation is the one above.
func TestShortestViolation(t *testing.T) {
	tier.NotShort(t)
	plan := bug
	two := strategy.Uniform{Period: 4, Isolations: strategy.Unbounded, Rounds: 8, Sampler: strategy.Every}
	plan.Strategy, plan.Runs = two, int(two.Executions(3).Int64())
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil || result.Runs != 15625 || result.First() != nil {
		t.Fatalf("two phases: %d runs, %v, %v", result.Runs, result.First(), err)
	}
	three := strategy.Uniform{Period: 4, Isolations: 5, Rounds: 12, Sampler: strategy.Every}
	plan.Strategy, plan.Runs, plan.KeepGoing, plan.Keep = three, int(three.Executions(3).Int64()), true, 1<<30
	if result, err = lockstep.Explore(context.Background(), plan); err != nil {
		t.Fatal(err)
	}
	best := size{1 << 30}
	for _, f := range result.Failures {
		if s := sizeOf(f.Trace); slices.Compare(s[:], best[:]) < 0 {
			best = s
		}
	}
	t.Logf(
		"%d of %d executions violate the property; the shortest has %d phases, %d rounds with messages, %d isolations",
		len(result.Failures), result.Runs, best[0], best[1], best[2])
	if best != shortest {
		t.Errorf("shortest violation %v, want %v", best, shortest)
	}
}

// From at least 90 of 100 different findings in two larger spaces, shrinking reaches the
// shortest violation.
func TestShrinkingReachesTheShortest(t *testing.T) {
	tier.NotShort(t)
	reached, number := 0, tier.Pick(10, 50)
	for _, s := range []lockstep.Strategy{strategy.Uniform{Period: 4, Isolations: 6, Rounds: 24},
		strategy.Uniform{Period: 4, Isolations: 9, Rounds: 32, Sampler: strategy.Paper}} {
		plan := bug
		plan.Strategy, plan.Runs, plan.KeepGoing, plan.Keep = s, 600*number, true, number
		result, err := lockstep.Explore(context.Background(), plan)
		if err != nil || len(result.Failures) < number {
			t.Fatalf("%d findings, %v", len(result.Failures), err)
		}
		for _, f := range result.Failures {
			small, err := shrink.Run(t.Context(), bug, f.Trace, shrink.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if sizeOf(small.Trace) == shortest {
				reached++
			}
		}
	}
	t.Logf("%d of %d findings shrink to the shortest violation", reached, 2*number)
	if reached*10 < 9*2*number {
		t.Errorf("only %d of %d", reached, 2*number)
	}
}

// kernels is a strategy with hand-picked isolations, round by round.
type kernels []lockstep.Nodes

func (kernels) String() string                            { return "kernels" }
func (kernels) Fit(lockstep.Info) (lockstep.Terms, error) { return lockstep.Terms{}, nil }
func (k kernels) New(info lockstep.Info) lockstep.Scheduler {
	b := &byHand{kernels: k}
	b.Driver = rounds.New(info, len(k), b)
	return b
}

type byHand struct {
	rounds.Rules
	*rounds.Driver
	kernels kernels
}

func (b *byHand) Reset(*lockstep.Start)                              { b.Driver.Reset(len(b.kernels)) }
func (b *byHand) Report(bool) lockstep.SchedulerStats                { return lockstep.SchedulerStats{} }
func (b *byHand) Give(*lockstep.Turn, *lockstep.Step) bool           { return false }
func (b *byHand) Open(i int, _ *lockstep.Turn) (int, lockstep.Nodes) { return i/4 + 1, b.kernels[i] }

// The violation of Fig. 3: two nodes output a, and two phases with the third node fail. Then that node's empty log
// counts as the most recent, and a is lost. With leaders in turn the phase of node 1 is skipped, so the figure's four
// phases are three here.
func TestFig3(t *testing.T) {
	set := trace.NodesOf
	schedule := kernels{
		set(1, 2), set(1, 2), set(1, 2), set(1, 2), // 1 and 2 output a
		set(2, 3), set(3), set(3), set(3), // 3 joins phase 2, which fails
		set(1, 3), set(1, 3), set(1, 3), set(1, 3), // 3 leads 1 with its empty log
	}
	for _, c := range []struct {
		bug  bool
		want trace.Verdict
	}{{true, trace.Fail}, {false, trace.Pass}} {
		result, err := lockstep.Explore(context.Background(),
			lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: c.bug}, Spec: smr.Prefix, Strategy: schedule, Runs: 1})
		if err != nil || result.Verdict() != c.want {
			t.Fatalf("bug %v: %v, %v", c.bug, result.Verdict(), err)
		}
		if f := result.First(); f != nil && f.Finding.Text != "node 1 outputs c, but node 1 had output a" {
			t.Errorf("found %s", f.Finding)
		}
	}
}

// The corrected protocol satisfies its spec under every strategy, including faults and clients, for several sizes. (A
// million runs of uniform: see the README.)
func TestCorrectProtocol(t *testing.T) {
	tier.NotShort(t)
	faults := strategy.Walk{
		Deliver:   20,
		Drop:      1,
		Duplicate: 1,
		Timer:     2,
		Request:   1,
		Crash:     1,
		Restart:   2,
		Cut:       1,
		Heal:      3,
		Steps:     300,
	}
	for _, k := range append(strategy.All(), strategy.Description{Name: "walk with faults", Default: faults}) {
		for _, c := range []smr.Cluster{{Nodes: 1}, {Nodes: 3}, {Nodes: 5}, {Nodes: 3, Requests: 5}} {
			if k.Name == "uniform" && c.Nodes == 1 {
				k.Default = strategy.Uniform{Period: 4, Isolations: 2, Rounds: 16}
			}
			if k.Name == "partition" && c.Nodes == 1 { // nothing to partition
				continue
			}
			result, err := lockstep.Explore(context.Background(),
				lockstep.Plan{System: c, Spec: smr.Prefix, Strategy: k.Default, Runs: tier.Pick(300, 2000)})
			if err != nil || result.Verdict() != trace.Pass {
				t.Errorf("%s on %+v: %v %v, %v", k.Name, c, result.Verdicts, result.First(), err)
			}
			if result != nil && result.Checked[0].N == 0 {
				t.Errorf("%s on %+v: no output was ever checked", k.Name, c)
			}
		}
	}
}

// The bug shows on more nodes and with clients, too.
func TestBugElsewhere(t *testing.T) {
	for _, c := range []smr.Cluster{{Nodes: 4, Bug: true}, {Nodes: 5, Bug: true}, {Nodes: 3, Bug: true, Requests: 8}} {
		result, err := lockstep.Explore(context.Background(),
			lockstep.Plan{System: c, Spec: smr.Prefix, Strategy: strategy.DefaultWalk, Runs: 30_000})
		if err != nil || result.First() == nil {
			t.Errorf("%+v: nothing found, %v", c, err)
		}
	}
}

func TestBadClusters(t *testing.T) {
	for _, c := range []struct {
		cluster smr.Cluster
		want    string
	}{
		{smr.Cluster{}, "smr: nodes is 0, allowed are 1..64"},
		{smr.Cluster{Nodes: 65}, "smr: nodes is 65, allowed are 1..64"},
		{smr.Cluster{Nodes: 3, Requests: -1}, "smr: requests is -1, allowed are 0..1000000"},
	} {
		if _, err := c.cluster.Describe(); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.cluster, err, c.want)
		}
	}
}

func Example() {
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{
		System:   smr.Cluster{Nodes: 3, Bug: true},
		Strategy: strategy.Uniform{Period: 4, Isolations: 4, Rounds: 16},
		Spec:     smr.Prefix,
		Runs:     10_000,
	})
	fmt.Println(result.Verdict(), result.First().Finding, err)
	// Output: fail prefix: node 1 outputs d, but node 2 had output b <nil>
}

func ExampleLog() {
	fmt.Println(smr.Log{1, 2, 3}, smr.Log{}, smr.Log{26, 27, 53})
	// Output: abc - z.a2.a3
}

func Example_targets() {
	t, _ := target.Find(smr.Targets, "smr-bug")
	system, err := t.Build([]string{"nodes=5"})
	fmt.Printf("%+v %v\n", system, err)
	// Output: {Nodes:5 Bug:true Requests:0} <nil>
}
