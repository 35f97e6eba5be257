package tendermint

import (
	"bytes"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

func TestMain(m *testing.M) {
	if bubble.Overlay { // goroutines of validators that lost power stay paused
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

func explore(t testing.TB, plan lockstep.Plan) *lockstep.Result {
	t.Helper()
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Four validators start and decide, also when messages are lost and a validator crashes and restarts, and nothing is
// left behind.
func TestFirst(t *testing.T) {
	commits, after, incarnations, torn := 0, 0, 0, 0
	count := spec.OnEvent(
		"count",
		EventCommit,
		func(_ *struct{}, run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			commits++
			if run.EverCrashed().Has(e.Node) {
				after++
			}
			return nil
		},
	)
	starts := spec.OnEvent(
		"starts",
		EventStart,
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			incarnations = max(incarnations, e.Value.(*Started).Incarnation)
			return nil
		},
	)
	repairs := spec.OnEvent("repairs", EventRepair, func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
		torn++
		return nil
	})
	for _, walk := range []strategy.Walk{{Deliver: 20, Wait: 2, Steps: 800},
		{Deliver: 40, Wait: 4, Drop: 1, Crash: 1, Restart: 2, Steps: 1500}} {
		commits, after, incarnations, torn = 0, 0, 0, 0
		result := explore(
			t,
			lockstep.Plan{
				System:   Cluster{},
				Strategy: walk,
				Spec:     spec.All(Everything, count, starts, repairs),
				Runs:     4,
				Settle:   500,
			},
		)
		if f := result.First(); f != nil {
			t.Fatalf("%s\n%s", f.Finding, f.Finding.Stack)
		}
		t.Log(walk, result.Steps, result.Messages, commits, after, incarnations, torn, result.Verdicts, result.Reasons,
			result.Checked)
		if commits == 0 || result.Verdicts[trace.Pass] != 4 || walk.Crash > 0 &&
			(after == 0 || incarnations < 2 || torn == 0) {
			t.Errorf("%d commits, %d of them after a crash, %d incarnations, %d torn logs; %v %v", commits, after,
				incarnations, torn, result.Verdicts, result.Reasons)
		}
	}
}

// The log rejects a record that is torn at any position.
func TestTorn(t *testing.T) {
	var b bytes.Buffer
	if err := newWALEncoder(&b).Encode(&timedWALMessage{Time: began(), Msg: endHeight{Height: 7}}); err != nil {
		t.Fatal(err)
	}
	if !readable(b.Bytes()) {
		t.Error("the whole record is not read")
	}
	for n := range b.Len() {
		if readable(b.Bytes()[:n]) {
			t.Errorf("%d of %d bytes are read as a record", n, b.Len())
		}
	}
}

// Seven validators decide, with two Byzantine ones, with losses and with slow disks.
func TestSeven(t *testing.T) {
	walk := strategy.Walk{Deliver: 60, Wait: 6, Drop: 1, Steps: 1500}
	result := explore(
		t,
		lockstep.Plan{
			System:       Cluster{Nodes: 7, Slow: 0.1},
			Strategy:     walk,
			Scenario:     RandomByzantine(2, 7),
			Spec:         Everything,
			Runs:         2,
			Settle:       1500,
			Seed:         1,
			AllowVacuous: true,
		},
	)
	if f := result.First(); f != nil {
		t.Fatalf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	for _, p := range result.Checked {
		if p.Name == "agreement" && p.N == 0 {
			t.Errorf("no validator decided: %v %v", result.Verdicts, result.Checked)
		}
	}
}
