package etcdraft_test

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/closure"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
)

// Raft is not communication-closed at the grain of terms: a leader goes through many
// exchanges of entries in one term, so that an append arrives when its receiver has
// answered an earlier one of the same term. The figures stand in docs/reports.md.
func TestRoundsOfRaft(t *testing.T) {
	s, err := strategy.Parse("walk:steps=60")
	if err != nil {
		t.Fatal(err)
	}
	for _, layers := range []bool{false, true} {
		plan := lockstep.Plan{System: etcdraft.Cluster{Layers: layers}, Strategy: s, Seed: 1}
		share, err := closure.Survey(t.Context(), plan, 100)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("layers=%v: %d of %d runs have a lock-step form; broken by %v", layers, share.Formed, share.Runs, share.Breaks)
		if layers != (share.Formed > 0) || !slices.ContainsFunc(share.Breaks[:2], func(b closure.BreakCount) bool { return b.Type == "MsgApp" }) {
			t.Errorf("layers=%v: %+v", layers, share)
		}
		m, err := closure.Measure(t.Context(), plan, 300)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("closed in %d of %d runs", m.Closed, m.Runs)
		for _, c := range m.Types {
			t.Logf("%-18s %5d delivered, %5d late, %5d changed a state", c.Type, c.Delivered, c.Late, c.Changed)
			if c.Type == "MsgApp" && !layers && c.Changed == 0 {
				t.Error("no late MsgApp changed a state")
			}
		}
	}
}
