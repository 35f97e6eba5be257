package spec_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// script is a system that only reports events, another list of them in each run of a campaign with the seed 0.
type script [][]lockstep.Event

// Describe returns the system's name and capabilities.
func (script) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "script", Nodes: 2, Supports: trace.KindsOf(trace.Deliver)}, nil
}

// Deploy makes a deployment.
func (s script) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	r := reader{}
	for run, events := range s {
		r[lockstep.RunSeed(lockstep.RunSeed(0, run), 0)] = events
	}
	return r, nil
}

// reader has the events of a run by the seed that the engine gives to its deployment.
type reader map[uint64][]lockstep.Event

// Reset begins a new run.
func (r reader) Reset(_ context.Context, seed uint64, out *lockstep.Outbox) error {
	for _, e := range r[seed] {
		out.Event(e)
	}
	return nil
}

// Do takes one step.
func (reader) Do(context.Context, *lockstep.Step, *lockstep.Outbox) error { return nil }

// Capabilities is empty.
func (reader) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }

// Close has nothing to release.
func (reader) Close() error { return nil }

// checker makes the runs of a script and checks them by a spec.
func checker(t testing.TB, s script, promised lockstep.Spec) *lockstep.Result {
	t.Helper()
	r, err := lockstep.Explore(context.Background(), lockstep.Plan{System: s, Strategy: strategy.Walk{Deliver: 1},
		Spec: promised, Runs: len(s), Workers: 1, KeepGoing: true, Keep: len(s)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
