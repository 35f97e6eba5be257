//go:build lockstep_overlay

package tendermint

import (
	"flag"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// With the overlay, runs are the same in every process: without faults, with losses, crashes and slow disks, and with
// a Byzantine validator.
func TestExactly(t *testing.T) {
	processes.AllSame(t, exactRuns, func() (rows []processes.Row) {
		for _, p := range []lockstep.Plan{
			{System: Cluster{}, Strategy: strategy.Walk{Deliver: 20, Wait: 2, Steps: 300}},
			{System: Cluster{Slow: 0.1}, Strategy: strategy.Walk{Deliver: 40, Wait: 4, Drop: 1, Crash: 1, Restart: 2,
				Steps: 300}},
			{System: Cluster{}, Strategy: strategy.Walk{Deliver: 40, Wait: 4, Steps: 300}, Scenario: RandomByzantine(1, 4)},
		} {
			p.Spec, p.Seed = Safety, 3
			d, err := bubble.Digests(t.Context(), p, exactRuns)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows,
				processes.Row{Name: fmt.Sprintf("%s Byzantine nodes=%v", p.Strategy, p.Scenario != nil), Outcomes: d})
		}
		return rows
	})
}

// exactRuns is the number of seeds of each plan: about a hundred together.
const exactRuns = 34

// With the library's own log in files all properties hold, and runs are deterministic: with power failures, and when
// validators are killed. With blocks of several parts the library's buffer fills up in the middle of a record. The
// file then has half of the record, and the library repairs that.
func TestFiles(t *testing.T) {
	for _, c := range []Cluster{{Files: true, Power: 0.8}, {Files: true, Block: 140_000}} {
		incarnations, torn := 0, 0
		starts := spec.OnEvent(
			"starts",
			EventStart,
			func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
				incarnations = max(incarnations, e.Value.(*Started).Incarnation)
				return nil
			},
		)
		repairs := spec.OnEvent(
			"repairs",
			EventRepair,
			func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
				torn++
				return nil
			},
		)
		plan := lockstep.Plan{
			System:    c,
			Strategy:  strategy.Walk{Deliver: 40, Wait: 4, Crash: 1, Restart: 2, Steps: 300},
			Spec:      spec.All(Everything, starts, repairs),
			Runs:      *files,
			Settle:    200,
			Seed:      4,
			KeepGoing: true,
		}
		result := explore(t, plan)
		if f := result.First(); f != nil {
			t.Errorf("%+v: run %d: %s\n%s", c, f.Run, f.Finding, f.Finding.Stack)
		}
		t.Logf("%+v: %d incarnations, %d repairs, %v %v %v", c, incarnations, torn, result.Verdicts, result.Reasons,
			result.Checked)
		if incarnations < 2 || c.Block > 0 && torn == 0 || result.Verdicts[trace.Pass] != plan.Runs {
			t.Errorf("%+v: %d incarnations, %d repairs, %v %v", c, incarnations, torn, result.Verdicts, result.Reasons)
		}
		if r, err := bubble.Repetition(t.Context(), plan, 1); err != nil || r.Same != r.Of {
			t.Errorf("%+v: %d of %d runs repeated, %v", c, r.Same, r.Of, err)
		}
	}
}

var files = flag.Int("files", 1, "make so many runs with files")
