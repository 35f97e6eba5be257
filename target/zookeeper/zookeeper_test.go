package zookeeper

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
)

// reports are the scenarios with the versions that have the defect.
var reports = map[string]string{"ZOOKEEPER-2832": "3.4.9", "ZOOKEEPER-3875": "3.5.8"}

func TestReported(t *testing.T) {
	for _, sc := range Scenarios {
		t.Run(sc.Name, func(t *testing.T) {
			system, err := Targets[0].Build(append(sc.Set, "version="+reports[sc.Name]))
			if err != nil {
				t.Fatal(err)
			}
			plan := lockstep.Plan{System: system, Spec: Properties, Scenario: sc.Build(), Strategy: strategy.DefaultWalk, Settle: Settle, Workers: 1, Scratch: t.TempDir()}
			begin := time.Now()
			tr, err := lockstep.Record(t.Context(), plan, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(time.Since(begin), tr.Outcome, tr.Outcome.Finding)
			for _, r := range tr.Records {
				t.Log(r.Number, r.Step, r.Round, r.Settle, r.Events)
			}
		})
	}
}
