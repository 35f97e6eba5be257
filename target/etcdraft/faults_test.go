package etcdraft_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/v37"
	"github.com/lockstep-go/lockstep/trace"
)

// rough is a walk with every kind of fault.
var rough = strategy.Walk{Deliver: 20, Drop: 2, Duplicate: 1, Timer: 3, Request: 2, Crash: 1, Restart: 2, Cut: 1,
	Heal: 1}

// screen is the maximum number of lines of a shrunk trace.
const screen = 60

// fault is a deliberate fault, with the strategy that finds it and the property that it violates.
type fault struct {
	name     string
	system   etcdraft.Cluster
	strategy lockstep.Strategy
	property string
	settle   int
	best     steps // the smallest known number of steps, by property
}

// steps are numbers of steps by property.
type steps map[string]int

// plan looks for the fault without [etcdraft.Causes], which TestCauses covers: they hide violations that come later.
func (f *fault) plan(seed uint64) lockstep.Plan {
	return lockstep.Plan{
		System:   f.system,
		Strategy: f.strategy,
		Spec:     spec.All(raftspec.Everything, etcdraft.Linearizability, raftspec.Within(12)),
		Seed:     seed,
		Runs:     20_000,
		Steps:    300,
		Settle:   f.settle,
		Workers:  1,
	}
}

// faults are the deliberate faults.
func faults() []fault {
	plain := strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Request: 1}
	small := etcdraft.Cluster{Requests: 3, Keys: 1, Election: 3}
	leaders := etcdraft.Cluster{Nodes: 2, Clients: etcdraft.None}
	return []fault{
		{"forget the vote", with(small, func(f *faulty) raftlib.Node { return forgetVote{f} }), rough,
			"election-safety", 0, steps{"election-safety": 8}},
		{"forget the term", with(small, func(f *faulty) raftlib.Node { return forgetTerm{f} }), rough,
			"election-safety", 0, steps{"election-safety": 8, "leader-completeness": 10}},
		{"lose the log's tail", with(small, func(f *faulty) raftlib.Node { return loseTail{f} }), rough,
			"leader-completeness", 0, steps{"leader-completeness": 10, "panic": 9}},
		{"apply twice", with(small, func(f *faulty) raftlib.Node { return applyTwice{f} }), plain,
			"state-machine-safety", 0, steps{"state-machine-safety": 9}},
		{"read without asking", with(small, func(f *faulty) raftlib.Node { return &staleRead{faulty: f} }), plain,
			"linearizability", 0, steps{"linearizability": 9}},
		{"deliver to the wrong node", with(small, func(f *faulty) raftlib.Node { return wrongNode{f} }), plain,
			"leader-completeness", 0, steps{"leader-completeness": 12}},
		{"apply before commit", with(small, func(f *faulty) raftlib.Node { return &earlyApply{faulty: f} }), plain,
			"durability", 0, steps{"durability": 4}},
		{"snapshot without data", etcdraft.Cluster{Requests: 3, Compact: 2}.With(forgetfulLibrary{v37.Library{}}),
			plain, "state-machine-safety", 0, steps{"state-machine-safety": 11}},
		{"hear no votes", with(leaders, func(f *faulty) raftlib.Node { return deaf{f} }), plain, "liveness", 80,
			steps{"liveness": 80}},
		{"hard state before entries", with(small, func(f *faulty) raftlib.Node { return hardFirst{f} }), rough, "panic",
			0, steps{"panic": 10}},
		{"work without end", with(small, func(f *faulty) raftlib.Node { return &restless{faulty: f} }), plain, "panic",
			0, steps{"panic": 3}},
		{"ignore membership changes", with(etcdraft.Cluster{Nodes: 4, Voters: 3, Changes: 3},
			func(f *faulty) raftlib.Node { return ignoreChange{f} }), plain, "state-machine-safety", 0,
			steps{"state-machine-safety": 9}},
		{"corrupt entries", with(small, func(f *faulty) raftlib.Node { return corruptEntry{f} }), plain, "log-matching",
			0, steps{"log-matching": 7}},
		{"overwrite the leader's log", with(small, func(f *faulty) raftlib.Node { return overwrite{f} }), plain,
			"leader-append-only", 0, steps{"leader-append-only": 7, "panic": 13}},
	}
}

// TestFaults shows that the specs detect their bugs. The named strategy finds each deliberate fault as a violation of
// the named property, and shrinks it to a trace that fits a screen.
func TestFaults(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			plan := f.plan(1)
			r, err := lockstep.Explore(context.Background(), plan)
			if err != nil {
				t.Fatal(err)
			}
			found := r.First()
			if found == nil || found.Flaky != "" {
				t.Fatalf("not found in %d runs: %+v", r.Runs, found)
			}
			if found.Finding.Property != f.property {
				t.Errorf("run %d violates %s, not %s", found.Run, found.Finding, f.property)
			}
			s, err := shrink.Run(context.Background(), plan, found.Trace, shrink.Options{Attempts: 3000})
			if err != nil {
				t.Fatal(err)
			}
			var grid strings.Builder
			if err := report.Grid(&grid, s.Trace, report.Options{Width: 140}); err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(grid.String(), "\n"); lines > screen {
				t.Errorf("the shrunk trace has %d lines, a screen has %d:\n%s", lines, screen, grid.String())
			}
			t.Logf("run %d, shrunk from %s to %s: %s", found.Run, s.Was, s.Is, s.Trace.Outcome.Finding)
			plan.System, plan.Runs = f.system.With(v37.Library{}), 100
			if r, err := lockstep.Explore(context.Background(), plan); err != nil || r.Verdict() != trace.Pass {
				t.Errorf("without the fault: %v, %v", r, err)
			}
		})
	}
}

// lastLeader records the nodes that call themselves leader at the end of each run.
type lastLeader struct {
	leaders []lockstep.Nodes
	now     lockstep.Nodes
}

func (l *lastLeader) New(lockstep.Info) lockstep.Watcher { return l }
func (l *lastLeader) Collect(_ int, noted any)           { l.leaders = append(l.leaders, noted.(lockstep.Nodes)) }
func (l *lastLeader) Reset()                             { l.now = 0 }
func (l *lastLeader) Observe(run *lockstep.Run)          { l.now = run.Playing(raftspec.BecameLeader) }
func (l *lastLeader) Noted() any                         { return l.now }

// TestIgnoredAppends covers a node that never appends. The spec must find it in every run in which it does not lead
// at the end although it was elected when logs were empty. The others are a majority, so only the logs show the
// fault.
func TestIgnoredAppends(t *testing.T) {
	for _, s := range []lockstep.Strategy{strategy.DefaultUniform, strategy.Baseline{Drop: 0.1}, rough} {
		last := &lastLeader{}
		plan := lockstep.Plan{
			System:    with(etcdraft.Cluster{}, func(f *faulty) raftlib.Node { return ignoreAppend{f} }),
			Strategy:  s,
			Spec:      etcdraft.Everything,
			Seed:      1,
			Runs:      tier.Pick(40, 200),
			Steps:     300,
			Settle:    etcdraft.Settle,
			Workers:   1,
			KeepGoing: true,
			Keep:      200,
			Observers: []lockstep.Observer{last},
		}
		r, err := lockstep.Explore(context.Background(), plan)
		if err != nil {
			t.Fatal(err)
		}
		failed := map[int]bool{}
		for _, f := range r.Failures {
			if failed[f.Run] = true; f.Finding.Property != "log-agreement" {
				t.Errorf("%s: run %d violates %s", s, f.Run, f.Finding)
			}
		}
		t.Logf("%s: %d of %d runs fail", s, len(failed), r.Runs)
		for run, leaders := range last.leaders {
			if failed[run] == leaders.Has(3) {
				t.Errorf("%s: run %d fails is %v, and nodes %s lead at its end", s, run, failed[run], leaders)
			}
		}
		if 4*len(failed) < 3*plan.Runs || len(last.leaders) != plan.Runs {
			t.Errorf("%s: only %d of %d runs fail", s, len(failed), len(last.leaders))
		}
	}
}
