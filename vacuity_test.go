package lockstep_test

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// Test fails when a part of a scenario never took effect in any run, unless it is told
// that this is as it should be.
func TestVacuousPartsFailTest(t *testing.T) {
	t.Chdir(t.TempDir())
	sc := scenario.New("half idle")
	sc.If(scenario.Round("Ack")).Named("acks").First(1).Then(scenario.Deliver())
	sc.If(scenario.Round("Ack"), scenario.Phase(-1)).Named("no such phase").Then(scenario.Drop())
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Scenario: sc, Spec: smr.Prefix, Runs: 50}
	f := inTest(&fakeT{name: "TestHalf"}, plan)
	if !f.failed || !strings.Contains(f.log.String(), "never took effect: filter 2 (no such phase) acted") {
		t.Errorf("the idle filter is not named:\n%s", f.log.String())
	}
	plan.AllowVacuous = true
	if f := inTest(&fakeT{name: "TestHalf"}, plan); f.failed {
		t.Errorf("it fails although it is told not to:\n%s", f.log.String())
	}
}
