package tendermint

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

var lying = strategy.Walk{Deliver: 40, Wait: 4, Steps: 1200}

// With f liars of 3f+1 nothing that the protocol promises breaks.
func TestLiars(t *testing.T) {
	result := explore(t, lockstep.Plan{System: Cluster{}, Strategy: lying, Scenario: Liars(1, 4), Spec: Everything, Runs: 8, Settle: 500, Seed: 1})
	if f := result.First(); f != nil {
		t.Fatalf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	t.Log(result.Verdicts, result.Reasons, result.Judged, result.Effects)
	if parts := result.VacuousParts(); result.Verdicts[trace.Pass] == 0 || len(parts) > 2 {
		t.Errorf("%v %v, never: %q", result.Verdicts, result.Reasons, parts)
	}
}

// With f+1 liars validators decide differently, and the votes prove f+1 of them guilty.
func TestTooManyLiars(t *testing.T) {
	result := explore(t, lockstep.Plan{System: Cluster{}, Strategy: lying, Scenario: Liars(2, 4), Spec: Safety, Runs: 60, Seed: 1})
	f := result.First()
	if f == nil || f.Finding.Property != "agreement" {
		t.Fatalf("%v %v: %+v", result.Verdicts, result.Reasons, f)
	}
	t.Logf("run %d, %d of %d: %s; judged %v", f.Run, f.Failed, f.Repeated, f.Finding, result.Judged)
	if result.Judged[1].N == 0 {
		t.Error("accountability was not judged")
	}
}
