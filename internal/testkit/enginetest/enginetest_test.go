package enginetest_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// A replay reproduces the first finding. The number of its steps excludes those of the settling stage.
func TestWay(t *testing.T) {
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3, Bug: true},
		Spec:     smr.Prefix,
		Strategy: strategy.DefaultUniform,
		Runs:     1000,
		Settle:   50,
	}
	f := enginetest.First(t, plan)
	enginetest.FailsAgain(t, plan, f.Trace)
	settling := 0
	for _, r := range f.Trace.Records {
		if r.Settle {
			settling++
		}
	}
	if got := enginetest.Explored(f.Trace); got == 0 ||
		got+settling+1 != len(f.Trace.Records) { // the first record is the start
		t.Errorf("%d steps of %d, %d in the settling stage", got, len(f.Trace.Records), settling)
	}
}
