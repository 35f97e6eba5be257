package zookeeper

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
)

func TestOne(t *testing.T) {
	plan := lockstep.Plan{System: Cluster{}, Spec: Properties, Strategy: strategy.Uniform{Period: 2, Rounds: 6, Isolations: 4, By: strategy.ByRestart},
		Runs: 2, Workers: 1, Settle: Settle, Seed: 1, Keep: 1}
	begin := time.Now()
	tr, err := lockstep.Record(t.Context(), plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(begin), tr.Outcome)
	for _, r := range tr.Records {
		t.Log(r.Number, r.Step, r.Round, r.Settle, r.Events)
	}
}
