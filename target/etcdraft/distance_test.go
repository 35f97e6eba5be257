package etcdraft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/etcdraft"
)

// Distances are measured on the default cluster, whose clients retry until there is a leader. The synchronous run
// elects a leader nevertheless.
func TestDistancesOfTheDefaultCluster(t *testing.T) {
	sc := scenario.New("late votes and entries")
	sc.If(scenario.IsSend(), scenario.Type("MsgVoteResp")).Once().Then(scenario.Store("votes"))
	sc.If(scenario.IsSend(), scenario.Type("MsgApp"), scenario.To(2)).First(3).Then(scenario.Store("entries"))
	sc.If(scenario.IsReceive(), scenario.Type("MsgAppResp")).
		Then(scenario.ReleaseAll("votes"), scenario.ReleaseAll("entries"))
	plan := lockstep.Plan{System: etcdraft.Cluster{}, Scenario: sc, Steps: 1000, Runs: 3}
	distances, err := scenario.Distances(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range distances[:2] {
		if d.Captured == 0 || d.Mean == 0 {
			t.Errorf("%s: distance %s, captured %d", d.Name, d, d.Captured)
		}
	}
}
