package bftsmart_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/bftsmart"
	"github.com/lockstep-go/lockstep/trace"
)

// needs skips a test where Java or Maven is missing, unless all tests must run.
func needs(t *testing.T) {
	t.Helper()
	for _, program := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("LOCKSTEP_STRICT") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

// quick are settings under which a leader change takes little time.
var quick = bftsmart.Cluster{Timeout: time.Second, Pace: 200 * time.Millisecond}

// explore makes a campaign of one worker.
func explore(t *testing.T, plan lockstep.Plan) *lockstep.Result {
	t.Helper()
	plan.Workers = 1
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v, %d steps, events %v, judged %v, %v", result.Verdicts, result.Steps, result.Events, result.Judged, result.Reasons)
	for _, f := range result.Found {
		t.Log(f.Finding, f.Flaky)
	}
	return result
}

// Requests are answered, also when a replica was killed in between, and all promises are kept
// and put to the test. Nothing is left running.
func TestKilledReplica(t *testing.T) {
	needs(t)
	sc := scenario.New("kill a replica").Faults(lockstep.Budget{Crashes: 1}).Reserve()
	m := sc.Machine()
	m.On(scenario.IsEvent(bftsmart.EventReply), "answered").
		On(scenario.Did(trace.Crash), "killed").
		On(scenario.IsEvent(bftsmart.EventReply), "answered again").MarkSuccess().EndRun()
	first := scenario.Only(1)
	sc.If(scenario.Did(trace.Start)).Then(scenario.Request("append 1", first))
	sc.If(scenario.IsEvent(bftsmart.EventReply), m.InState("answered")).Once().Then(scenario.Crash(scenario.Only(4)))
	sc.If(scenario.Did(trace.Crash)).Then(scenario.Request("append 2", first))
	plan := lockstep.Plan{System: quick, Spec: bftsmart.Promise, Scenario: sc, Strategy: strategy.Walk{Deliver: 10, Wait: 1, Steps: 200}, Runs: 1}
	result := explore(t, plan)
	if scenario.Successes(result) != 1 || result.Verdict() != trace.Pass {
		t.Errorf("%+v", result)
	}
}
