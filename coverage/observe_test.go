package coverage_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/internal/testkit/odds"
	"github.com/lockstep-go/lockstep/internal/testkit/steps"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/trace"
)

// diary is an observer that keeps the stages of the package's observer.
type diary struct {
	coverage.Observer
	stages []cover.Stage
	took   func([]cover.Stage)
}

func (d *diary) Collect(_ int, noted any) {
	d.stages = noted.([]cover.Stage)
	if d.took != nil {
		d.took(d.stages)
	}
}

// The observer derives stages from steps: the partition of the nodes and the operations.
func TestObserverReadsSteps(t *testing.T) {
	set := func(nodes ...lockstep.Node) lockstep.Nodes { return trace.NodesOf(nodes...) }
	cut := func(a, b lockstep.Nodes) lockstep.Step { return lockstep.Step{Kind: trace.Cut, From: a, To: b} }
	oneWay := func(a, b lockstep.Nodes) lockstep.Step {
		return lockstep.Step{Kind: trace.Cut, From: a, To: b, OneWay: true}
	}
	heal := lockstep.Step{Kind: trace.Heal, From: trace.AllNodes(5), To: trace.AllNodes(5)}
	request := func(id int32, n lockstep.Node) lockstep.Step {
		return lockstep.Step{Kind: trace.Request, Request: id, Node: n}
	}
	crash := func(n lockstep.Node) lockstep.Step { return lockstep.Step{Kind: trace.Crash, Node: n} }
	timer := func(n lockstep.Node) lockstep.Step { return lockstep.Step{Kind: trace.Timer, Node: n} }
	for _, c := range []struct {
		name    string
		steps   steps.List
		crashes bool
		want    string
	}{
		{"nothing happens", steps.List{}, false, ""},
		{"no cut", steps.List{request(1, 4), request(3, 2)}, false, "1,2,3,4,5 read@4 write 1@2"},
		{
			"operations around a cut",
			steps.List{request(1, 1), cut(set(1, 4), set(2, 3, 5)), request(3, 2), request(4, 1), heal, request(2, 3)},
			false,
			"1,2,3,4,5 read@1; 1,4|2,3,5 write 1@2 read@1; 1,2,3,4,5 write 0@3",
		},
		{
			"a cut in two steps is one partition",
			steps.List{cut(set(1), set(2, 3, 4, 5)), cut(set(2, 3), set(4, 5)), timer(1)},
			false,
			"1|2,3|4,5",
		},
		{
			"a cut that nothing happens under",
			steps.List{timer(1), cut(set(1), set(2)), heal, timer(2)},
			false,
			"1,2,3,4,5",
		},
		{"a bridge", steps.List{cut(set(1, 2), set(4, 5)), timer(1)}, false, "1,2,3|3,4,5"},
		{
			"one way is cut",
			steps.List{oneWay(set(1, 2), set(3, 4, 5)), timer(1), heal, timer(1)},
			false,
			"cut one way; 1,2,3,4,5",
		},
		{
			"one way after the other",
			steps.List{oneWay(set(1, 2), set(3, 4, 5)), oneWay(set(3, 4, 5), set(1, 2)), timer(1)},
			false,
			"1,2|3,4,5",
		},
		{
			"cut links with a way around them",
			steps.List{cut(set(1), set(3)), cut(set(2), set(4)), timer(1)},
			false,
			"cut with a way around",
		},
		{
			"two cuts that leave a bridge",
			steps.List{cut(set(1), set(2, 3)), cut(set(2), set(3)), timer(1)},
			false,
			"1,4,5|2,4,5|3,4,5",
		},
		{"a crash is no cut", steps.List{crash(2), timer(1)}, false, "1,2,3,4,5"},
		{"unless it is to be one", steps.List{timer(1), crash(2), timer(1)}, true, "1,2,3,4,5; 1,3,4,5|2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &diary{Observer: coverage.Observer{Crashes: c.crashes}}
			if _, err := lockstep.Explore(
				context.Background(),
				lockstep.Plan{
					System:    register.Cluster{Nodes: 5},
					Strategy:  c.steps,
					Runs:      1,
					Observers: []lockstep.Observer{d},
				},
			); err != nil {
				t.Fatal(err)
			}
			var stages []string
			for _, s := range d.stages {
				text := s.Partition.String()
				if _, shape := s.Links.Partition(); shape != cover.Divided {
					text = shape.String()
				}
				for _, o := range s.Ops {
					text += fmt.Sprintf(" %s@%d", o.Name, o.Node)
				}
				stages = append(stages, text)
			}
			if got := strings.Join(stages, "; "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// kernels records the kernels of a run's nonempty rounds, as partitions.
type kernels struct {
	runs [][]string
	now  []string
}

func (k *kernels) New(lockstep.Info) lockstep.Watcher { return k }
func (k *kernels) Collect(_ int, noted any)           { k.runs = append(k.runs, noted.([]string)) }
func (k *kernels) Reset()                             { k.now = nil }
func (k *kernels) Noted() any                         { return k.now }
func (k *kernels) Observe(run *lockstep.Run) {
	rounds := run.Rounds()
	if len(rounds) == 0 || run.Settling() || run.Last().Kind == trace.Start {
		return
	}
	kernel := rounds[len(rounds)-1].Kernel
	blocks := []cover.Set{}
	if kernel != 0 {
		blocks = append(blocks, cover.Set(kernel))
	}
	for n := range (run.All() &^ kernel).All() {
		blocks = append(blocks, cover.Set(trace.NodesOf(n)))
	}
	p, err := cover.NewPartition(run.Info().Nodes, blocks...)
	if err != nil {
		panic(err)
	}
	if text := p.String(); len(k.now) == 0 || k.now[len(k.now)-1] != text {
		k.now = append(k.now, text)
	}
}

// Rounds that isolate nodes are stages: the nodes of the kernel are connected, and the other nodes neither send nor
// receive.
func TestObserverReadsRounds(t *testing.T) {
	want := &kernels{}
	var have [][]string
	d := &diary{took: func(stages []cover.Stage) {
		var texts []string
		for _, s := range stages {
			texts = append(texts, s.Partition.String())
		}
		have = append(have, texts)
	}}
	if _, err := lockstep.Explore(
		context.Background(),
		lockstep.Plan{
			System:    register.Cluster{Nodes: 5},
			Strategy:  strategy.DefaultUniform,
			Runs:      200,
			Workers:   1,
			Settle:    20,
			Observers: []lockstep.Observer{d, want},
		},
	); err != nil {
		t.Fatal(err)
	}
	divided := 0
	for i := range have {
		if !slices.Equal(have[i], want.runs[i]) {
			t.Fatalf("run %d: stages %v, kernels %v", i, have[i], want.runs[i])
		}
		divided += len(have[i]) - 1
	}
	if divided < 200 {
		t.Errorf("%d stages: the test says little", divided)
	}
	if r := readings(t, strategy.DefaultUniform, 1)[0]; r.Tests == 0 || r.Covered != 5 {
		t.Errorf("uniform: %+v", r)
	}
}

// Networks that are cut but not divided have separate readings, and only if such a network occurred.
func TestObserverReadsIrregular(t *testing.T) {
	for _, c := range []struct {
		name string
		step lockstep.Step
		want []string
	}{
		{
			"a partition",
			lockstep.Step{Kind: trace.Cut, From: trace.NodesOf(1), To: trace.NodesOf(2, 3, 4, 5)},
			[]string{"minority isolation 1 of 5 in 1"},
		},
		{"one way", lockstep.Step{Kind: trace.Cut, From: trace.NodesOf(1), To: trace.NodesOf(2, 3, 4, 5), OneWay: true},
			[]string{"minority isolation 0 of 5 in 0", "links cut one way 4 of 20 in 1"}},
	} {
		watches := append(
			[]coverage.Watch{must(coverage.WatchGoals(cover.Isolate{}, cover.Uniform(5, 2)))},
			coverage.WatchIrregular(5)...)
		meter := must(coverage.NewMeter(watches...))
		if _, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{
				System:    register.Cluster{Nodes: 5},
				Strategy:  steps.List{c.step, {Kind: trace.Timer, Node: 1}},
				Runs:      1,
				Observers: []lockstep.Observer{&coverage.Observer{Meter: meter}},
			},
		); err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, r := range meter.Read() {
			have = append(have, fmt.Sprintf("%s %d of %d in %d", r.Name, r.Covered, r.Goals, r.Tests))
		}
		if !slices.Equal(have, c.want) {
			t.Errorf("%s: %q, want %q", c.name, have, c.want)
		}
	}
}

// A role that no partition of the campaign could put into a minority has no reading.
func TestImpossibleRole(t *testing.T) {
	role := func(name string) coverage.Watch {
		return coverage.Watch{
			Name:    name,
			WhenMet: true,
			Goals:   []cover.Goal{cover.RoleGoal{Kind: cover.Isolates, A: name}},
		}
	}
	meter := must(coverage.NewMeter(role("leader"), role("follower")))
	whole, cut := must(cover.Whole(5)), must(cover.ParsePartition("1,2|3,4,5"))
	roles := []cover.Role{{Name: "leader", Nodes: 1}, {Name: "follower", Nodes: 30}}
	meter.Add([]cover.Stage{{Partition: whole, Roles: roles}, {Partition: cut, Roles: roles}})
	if r := meter.Read(); len(r) != 1 || r[0].Name != "leader" || r[0].Covered != 1 {
		t.Errorf("readings %+v", r)
	}
	roles[1].Nodes = 6 // only two followers: possible, but not covered
	meter.Add([]cover.Stage{{Partition: whole, Roles: roles}, {Partition: cut, Roles: roles}})
	if r := meter.Read(); len(r) != 2 || r[1].Covered != 0 || r[1].Tests != 1 {
		t.Errorf("readings %+v", r)
	}
}

// readings runs a campaign and reads its meter.
func readings(t *testing.T, s lockstep.Strategy, workers int) []coverage.Reading {
	t.Helper()
	isolate, err := coverage.WatchGoals(cover.Isolate{}, cover.Balanced(5, 2))
	if err != nil {
		t.Fatal(err)
	}
	separate, err := coverage.WatchGoals(cover.Separate{K: 2, L: 2}, cover.Balanced(5, 2))
	if err != nil {
		t.Fatal(err)
	}
	leader := coverage.Watch{
		Name:  "leader",
		Goals: []cover.Goal{cover.RoleGoal{Kind: cover.Isolates, A: register.RoleLeader}},
	}
	meter, err := coverage.NewMeter(isolate, separate, leader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockstep.Explore(context.Background(), lockstep.Plan{System: register.Cluster{Nodes: 5}, Strategy: s,
		Runs: 300, Workers: workers, Observers: []lockstep.Observer{&coverage.Observer{Meter: meter}}}); err != nil {
		t.Fatal(err)
	}
	return meter.Read()
}

// The curve is ordered by runs, not by completion: the number of workers does not matter.
func TestObserverWorkers(t *testing.T) {
	for _, s := range []lockstep.Strategy{
		strategy.Partition{Criterion: strategy.MinorityIsolation, Balanced: true, Stages: 1, Steps: 60},
		strategy.Walk{Deliver: 20, Timer: 2, Cut: 1, Heal: 1, Steps: 300},
	} {
		one := readings(t, s, 1)
		if !reflect.DeepEqual(one, readings(t, s, 3)) {
			t.Errorf("%s: three workers read something else", s)
		}
		for _, r := range one {
			if r.Runs != 300 || r.Tests == 0 || r.Covered == 0 || len(r.Curve) == 0 {
				t.Errorf("%s: %+v", s, r)
			}
		}
	}
}

// On average, campaigns cover as much as the theorems expect of as many tests.
func TestObserverAgreesWithTheory(t *testing.T) {
	watch, err := coverage.WatchGoals(cover.Separate{K: 2, L: 2}, cover.Balanced(5, 2))
	if err != nil {
		t.Fatal(err)
	}
	const campaigns, runs = 300, 6
	covered, squares, expected := 0.0, 0.0, 0.0
	for seed := range uint64(campaigns) {
		meter, err := coverage.NewMeter(watch)
		if err != nil {
			t.Fatal(err)
		}
		plan := lockstep.Plan{
			System: register.Cluster{Nodes: 5},
			Strategy: strategy.Partition{
				Criterion: strategy.Separation,
				K:         2,
				L:         2,
				Balanced:  true,
				Stages:    1,
				Steps:     1,
			},
			Runs:      runs,
			Seed:      seed,
			Workers:   1,
			Observers: []lockstep.Observer{&coverage.Observer{Meter: meter}},
		}
		if _, err := lockstep.Explore(context.Background(), plan); err != nil {
			t.Fatal(err)
		}
		r := meter.Read()[0]
		if r.Tests != runs {
			t.Fatalf("%d tests in %d runs with one partition each", r.Tests, runs)
		}
		covered += r.Fraction / campaigns
		squares += r.Fraction * r.Fraction / campaigns
		expected = r.Theory.Fraction
	}
	margin := odds.Sigmas * math.Sqrt((squares-covered*covered)/campaigns)
	if math.Abs(covered-expected) > margin || margin > 0.1 {
		t.Errorf("%.3f of the goals covered, %.3f expected, margin %.3f", covered, expected, margin)
	}
}

func ExampleObserver() {
	isolate, err := coverage.WatchGoals(cover.Isolate{}, cover.Balanced(5, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	meter, err := coverage.NewMeter(isolate)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = lockstep.Explore(context.Background(), lockstep.Plan{
		System:    register.Cluster{Nodes: 5, Reads: register.Quorum},
		Strategy:  strategy.Partition{Criterion: strategy.MinorityIsolation, Balanced: true, Stages: 1, During: 2, Steps: 60},
		Spec:      register.Linearizability,
		Runs:      9,
		Observers: []lockstep.Observer{&coverage.Observer{Meter: meter}},
	})
	r := meter.Read()[0]
	fmt.Printf("%d of %d goals in %d tests; at least %.0f %% for all of them: %v\n", r.Covered, r.Goals, r.Tests,
		100*r.Theory.Bound, err)
	// Output: 5 of 5 goals in 9 tests; at least 86 % for all of them: <nil>
}
