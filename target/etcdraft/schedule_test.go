package etcdraft_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/trace"
)

// schedule wraps a function as a strategy, for tests.
type schedule struct {
	name string
	next func(r *rand.Rand, run *lockstep.Run) lockstep.Step
}

func (s schedule) String() string                                  { return s.name }
func (s schedule) Fit(lockstep.Info) (any lockstep.Terms, _ error) { return any, nil }
func (s schedule) New(lockstep.Info) lockstep.Scheduler            { return &scheduler{schedule: s} }

type scheduler struct {
	schedule
	rand *rand.Rand
}

func (s *scheduler) Reset(start *lockstep.Start)                   { s.rand = start.Rand }
func (s *scheduler) Report(bool) (nothing lockstep.SchedulerStats) { return nothing }
func (s *scheduler) Next(turn *lockstep.Turn, step *lockstep.Step) bool {
	*step = s.next(s.rand, &turn.Run)
	return true
}

// punctual follows virtual time: the earliest due event happens first.
var punctual = schedule{"punctual", func(r *rand.Rand, run *lockstep.Run) lockstep.Step {
	if p := run.Pending(); len(p) > 0 && r.IntN(20) == 0 {
		return lockstep.Step{
			Kind:    trace.Request,
			Request: p[r.IntN(len(p))].ID,
			Node:    run.Up().Nth(r.IntN(run.Up().Len())),
		}
	}
	node := run.Timers().First()
	for n := range run.Timers().All() {
		if run.TimerAt(n) < run.TimerAt(node) {
			node = n
		}
	}
	due := run.TimerAt(node)
	step := lockstep.Step{Kind: trace.Timer, Node: node}
	for _, id := range run.FreeMessages() {
		if at := run.Message(id).At; at <= due {
			step, due = lockstep.Step{Kind: trace.Deliver, Msg: id}, at-1
		}
	}
	return step
}}

// TestPunctual lets time and messages advance normally: one node is elected and remains leader.
func TestPunctual(t *testing.T) {
	c := etcdraft.Cluster{Delay: 2, Election: 12, CheckQuorum: true, Reads: etcdraft.Lease}
	for _, sys := range []lockstep.System{c, v35.Cluster(c)} {
		r, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{
				System:   sys,
				Strategy: punctual,
				Spec:     etcdraft.Everything,
				Seed:     1,
				Runs:     200,
				Steps:    600,
				Workers:  1,
			},
		)
		if err != nil || r.Verdict() != trace.Pass {
			t.Fatal(r.First(), err)
		}
		elections := r.Checked[0]
		if elections.Name != "election-safety" || elections.N < r.Runs || elections.N > r.Runs+r.Runs/5 {
			t.Errorf("%d elections in %d runs in which nothing goes wrong", elections.N, r.Runs)
		}
	}
}

// oneWay cuts single links in one direction and heals them again, and is random otherwise.
var oneWay = schedule{"one-way", func(r *rand.Rand, run *lockstep.Run) lockstep.Step {
	from, to := lockstep.Node(1+r.IntN(3)), lockstep.Node(1+r.IntN(3))
	kind := trace.Cut
	if run.Cut(from).Has(to) {
		kind = trace.Heal
	}
	flying, pending := run.FreeMessages(), run.Pending()
	switch k := r.IntN(20); {
	case k == 0 && from != to:
		return lockstep.Step{Kind: kind, OneWay: true, From: trace.NodesOf(from), To: trace.NodesOf(to)}
	case k < 3 && len(pending) > 0:
		return lockstep.Step{Kind: trace.Request, Request: pending[r.IntN(len(pending))].ID, Node: from}
	case k < 6 || len(flying) == 0:
		return lockstep.Step{Kind: trace.Timer, Node: from}
	}
	return lockstep.Step{Kind: trace.Deliver, Msg: flying[r.IntN(len(flying))]}
}}

// TestOneWay finds no violation when links work in one direction only, and the cluster recovers when they heal.
func TestOneWay(t *testing.T) {
	for _, c := range []etcdraft.Cluster{{}, {PreVote: true, CheckQuorum: true, Compact: 3}} {
		for _, sys := range []lockstep.System{c, v35.Cluster(c)} {
			r, err := lockstep.Explore(
				context.Background(),
				lockstep.Plan{System: sys, Strategy: oneWay, Spec: etcdraft.Everything,
					Seed: 1, Runs: 150, Steps: 300, Settle: etcdraft.Settle, Workers: 1},
			)
			if err != nil || r.Verdict() != trace.Pass {
				t.Fatal(r.First(), err)
			}
		}
	}
}
