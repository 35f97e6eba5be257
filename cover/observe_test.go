package cover_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/internal/steps"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/trace"
)

// diary is an observer that keeps what the observer of the package notes.
type diary struct {
	cover.Observer
	stages []cover.Stage
}

func (d *diary) Take(_ int, noted any) { d.stages = noted.([]cover.Stage) }

// Steps are read as stages: who is divided how, with which operations.
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
	alarm := func(n lockstep.Node) lockstep.Step { return lockstep.Step{Kind: trace.Alarm, Node: n} }
	for _, c := range []struct {
		name    string
		steps   steps.List
		crashes bool
		want    string
	}{
		{"nothing happens", steps.List{}, false, ""},
		{"no cut", steps.List{request(1, 4), request(3, 2)}, false, "1,2,3,4,5 read@4 write 1@2"},
		{"operations around a cut", steps.List{request(1, 1), cut(set(1, 4), set(2, 3, 5)), request(3, 2), request(4, 1), heal, request(2, 3)}, false,
			"1,2,3,4,5 read@1; 1,4|2,3,5 write 1@2 read@1; 1,2,3,4,5 write 0@3"},
		{"a cut in two steps is one partition", steps.List{cut(set(1), set(2, 3, 4, 5)), cut(set(2, 3), set(4, 5)), alarm(1)}, false, "1|2,3|4,5"},
		{"a cut that nothing happens under", steps.List{alarm(1), cut(set(1), set(2)), heal, alarm(2)}, false, "1,2,3,4,5"},
		{"a bridge", steps.List{cut(set(1, 2), set(4, 5)), alarm(1)}, false, "1,2,3|3,4,5"},
		{"one way is cut", steps.List{oneWay(set(1, 2), set(3, 4, 5)), alarm(1)}, false, "1,2|3,4,5"},
		{"cut links with a way around them", steps.List{cut(set(1), set(3)), cut(set(2), set(4)), alarm(1)}, false, "1,2,3,4,5"},
		{"two cuts that leave a bridge", steps.List{cut(set(1), set(2, 3)), cut(set(2), set(3)), alarm(1)}, false, "1,4,5|2,4,5|3,4,5"},
		{"a crash is no cut", steps.List{crash(2), alarm(1)}, false, "1,2,3,4,5"},
		{"unless it is to be one", steps.List{alarm(1), crash(2), alarm(1)}, true, "1,2,3,4,5; 1,3,4,5|2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &diary{Observer: cover.Observer{Crashes: c.crashes}}
			if _, err := lockstep.Explore(context.Background(), lockstep.Plan{System: register.Cluster{Nodes: 5}, Strategy: c.steps, Runs: 1, Observers: []lockstep.Observer{d}}); err != nil {
				t.Fatal(err)
			}
			var stages []string
			for _, s := range d.stages {
				text := s.Partition.String()
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

// readings makes a campaign and reads its meter.
func readings(t *testing.T, s lockstep.Strategy, workers int) []cover.Reading {
	t.Helper()
	isolate, err := cover.WatchGoals(cover.Isolate{}, cover.Balanced(5, 2))
	if err != nil {
		t.Fatal(err)
	}
	separate, err := cover.WatchGoals(cover.Separate{K: 2, L: 2}, cover.Balanced(5, 2))
	if err != nil {
		t.Fatal(err)
	}
	leader := cover.Watch{Name: "leader", Aims: []cover.Aim{cover.RoleGoal{Kind: cover.Isolates, A: register.RoleLeader}}}
	meter, err := cover.NewMeter(isolate, separate, leader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockstep.Explore(context.Background(), lockstep.Plan{System: register.Cluster{Nodes: 5}, Strategy: s,
		Runs: 300, Workers: workers, Observers: []lockstep.Observer{&cover.Observer{Meter: meter}}}); err != nil {
		t.Fatal(err)
	}
	return meter.Read()
}

// The curve goes by runs, not by who finished first: workers do not matter.
func TestObserverWorkers(t *testing.T) {
	for _, s := range []lockstep.Strategy{strategy.Partition{Notion: strategy.Isolation, Balanced: true, Stages: 1, Steps: 60},
		strategy.Walk{Deliver: 20, Alarm: 2, Cut: 1, Heal: 1, Steps: 300}} {
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

// On the whole, campaigns cover as much as the theorems expect of as many tests.
func TestObserverAgreesWithTheory(t *testing.T) {
	watch, err := cover.WatchGoals(cover.Separate{K: 2, L: 2}, cover.Balanced(5, 2))
	if err != nil {
		t.Fatal(err)
	}
	const campaigns, runs = 300, 6
	covered, expected := 0.0, 0.0
	for seed := range uint64(campaigns) {
		meter, err := cover.NewMeter(watch)
		if err != nil {
			t.Fatal(err)
		}
		plan := lockstep.Plan{System: register.Cluster{Nodes: 5}, Strategy: strategy.Partition{Notion: strategy.Separation, K: 2, L: 2, Balanced: true, Stages: 1, Steps: 1},
			Runs: runs, Seed: seed, Workers: 1, Observers: []lockstep.Observer{&cover.Observer{Meter: meter}}}
		if _, err := lockstep.Explore(context.Background(), plan); err != nil {
			t.Fatal(err)
		}
		r := meter.Read()[0]
		if r.Tests != runs {
			t.Fatalf("%d tests in %d runs with one partition each", r.Tests, runs)
		}
		covered += r.Fraction / campaigns
		expected = r.Theory.Fraction
	}
	// A share has a standard deviation of at most 0.5, the mean of 300 of at most 0.03.
	if d := covered - expected; d > 0.04 || d < -0.04 {
		t.Errorf("%.3f of the goals covered, %.3f expected", covered, expected)
	}
}

func ExampleObserver() {
	isolate, err := cover.WatchGoals(cover.Isolate{}, cover.Balanced(5, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	meter, err := cover.NewMeter(isolate)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = lockstep.Explore(context.Background(), lockstep.Plan{
		System:    register.Cluster{Nodes: 5, Reads: register.Quorum},
		Strategy:  strategy.Partition{Notion: strategy.Isolation, Balanced: true, Stages: 1, During: 2, Steps: 60},
		Spec:      register.Linearizability,
		Runs:      9,
		Observers: []lockstep.Observer{&cover.Observer{Meter: meter}},
	})
	r := meter.Read()[0]
	fmt.Printf("%d of %d goals in %d tests; at least %.0f %% for all of them: %v\n", r.Covered, r.Goals, r.Tests, 100*r.Theory.Bound, err)
	// Output: 5 of 5 goals in 9 tests; at least 86 % for all of them: <nil>
}
