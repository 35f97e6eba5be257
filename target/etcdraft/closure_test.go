package etcdraft_test

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
)

// Raft is not communication-closed with one round per term: a leader exchanges entries many times in one term. An
// append may therefore arrive after its receiver has answered an earlier append of the same term. The figures are
// those of the page.
func TestRoundsOfRaft(t *testing.T) {
	page.Section(t, "../../docs/evidence/late-messages.md", "late messages", func(w io.Writer) error {
		for _, layers := range []bool{false, true} {
			share, m := lateness(t, layers)
			if layers != (share.Formed > 0) ||
				!slices.ContainsFunc(share.Breaks[:2], func(b lockstepform.BreakCount) bool { return b.Type == "MsgApp" }) {
				t.Errorf("layers=%v: %+v", layers, share)
			}
			way := "rounds of terms"
			if layers {
				way = "causal layers"
			}
			fmt.Fprintf(w, "\nBy %s %d of %d runs have a lock-step form, and %d of %d are closed:\n\n", way,
				share.Formed, share.Runs, m.Closed, m.Runs)
			fmt.Fprintf(
				w,
				"| message | the first to break the form | delivered | late | late and changed a state |\n|---|--:|--:|--:|--:|\n",
			)
			for _, c := range m.Types {
				fmt.Fprintf(w, "| %s | %d | %d | %d | %d |\n", c.Type, breaks(share, c.Type), c.Delivered, c.Late,
					c.Changed)
				if c.Type == "MsgApp" && !layers && c.Changed == 0 {
					t.Error("no late MsgApp changed a state")
				}
			}
		}
		_, err := fmt.Fprintln(w)
		return err
	})
}

// lateness computes the lock-step forms of 100 runs and the late messages of 300.
func lateness(t *testing.T, layers bool) (*lockstepform.Share, *lockstepform.Measured) {
	t.Helper()
	s, err := strategy.Parse("walk:steps=60")
	if err != nil {
		t.Fatal(err)
	}
	plan := lockstep.Plan{System: etcdraft.Cluster{Layers: layers}, Strategy: s, Seed: 1}
	share, err := lockstepform.Survey(t.Context(), plan, 100)
	if err != nil {
		t.Fatal(err)
	}
	m, err := lockstepform.Measure(t.Context(), plan, 300)
	if err != nil {
		t.Fatal(err)
	}
	return share, m
}

// breaks is the number of forms that a type of message was the first to break.
func breaks(s *lockstepform.Share, kind string) int {
	for _, b := range s.Breaks {
		if b.Type == kind {
			return b.Runs
		}
	}
	return 0
}
