package bftsmart_test

import (
	"maps"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/bftsmart"
	"github.com/lockstep-go/lockstep/trace"
)

// quick are settings under which a leader change takes little time.
var quick = bftsmart.Cluster{Timeout: time.Second, Pace: 200 * time.Millisecond}

// explore runs a campaign with one worker.
func explore(t *testing.T, plan lockstep.Plan) *lockstep.Result {
	t.Helper()
	plan.Workers = 1
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v, %d steps, events %v, checked %v, %v", result.Verdicts, result.Steps, result.Events, result.Checked,
		result.Reasons)
	for _, f := range result.Failures {
		t.Log(f.Finding, f.Flaky)
	}
	return result
}

// Requests are answered, even if the leader is killed in between and when it is back. All guarantees hold and are
// checked, both with the agent and with proxies.
func TestKilledLeader(t *testing.T) {
	t.Run("agent", func(t *testing.T) { killLeader(t, quick) })
	t.Run("proxies", func(t *testing.T) {
		proxies := quick
		proxies.Proxies = true
		killLeader(t, proxies)
	})
}

func killLeader(t *testing.T, cluster bftsmart.Cluster) {
	outside.JVM(t)
	sc := scenario.New("kill the leader").Faults(lockstep.Budget{Crashes: 1}).Reserve()
	killed := scenario.Did(trace.Crash)
	sc.Machine().On(killed, "killed").On(scenario.IsEvent(bftsmart.EventReply), "answered").MarkSuccess()
	sc.If(scenario.Did(trace.Start)).Then(scenario.Request("append 1", scenario.Only(2)))
	sc.If(scenario.IsEvent(bftsmart.EventReply)).Once().Then(scenario.Crash(scenario.Only(1)))
	sc.If(killed).Then(scenario.Request("append 2", scenario.Only(2)))
	sc.If(scenario.IsSend()).Then(scenario.Deliver())
	plan := lockstep.Plan{
		System:   cluster,
		Spec:     bftsmart.Promise,
		Scenario: sc,
		Strategy: strategy.Walk{Deliver: 10, Wait: 1, Steps: 80},
		Settle:   40,
		Runs:     1,
	}
	result := explore(t, plan)
	if scenario.Successes(result) != 1 || result.Verdict() != trace.Pass || len(result.Unchecked()) > 0 {
		t.Errorf("%+v", result)
	}
}

// In a run without faults, proxies see the same messages as the agent, except those of a replica to itself. The content
// decoded from the wire agrees with the agent's.
func TestProxies(t *testing.T) {
	outside.JVM(t)
	seen := map[bool]map[string]int{}
	for _, proxies := range []bool{false, true} {
		cluster := quick
		cluster.Requests, cluster.Proxies = 1, proxies
		seen[proxies] = map[string]int{}
		sc := scenario.New("deliver at once")
		executed := sc.Machine()
		executed.On(scenario.IsEvent(bftsmart.EventReply), "answered").MarkSuccess()
		sc.If(scenario.Did(trace.Start)).Then(scenario.Request("", scenario.Only(1)))
		sc.If(scenario.Cond("misread", func(m *scenario.Moment) bool {
			if m.Kind != scenario.Sent {
				return false
			}
			if m.Message.From != m.Message.To {
				seen[proxies][m.Message.String()]++
			}
			read, ok := m.Body().(bftsmart.Message)
			return !ok || read.Type != m.Message.Type || m.Message.Tag.Phase == 0
		})).Then(scenario.FailWith("a message was misread"))
		sc.If(scenario.IsSend()).Then(scenario.Deliver())
		result := explore(
			t,
			lockstep.Plan{
				System:   cluster,
				Spec:     bftsmart.Promise,
				Scenario: sc,
				Strategy: strategy.Walk{Deliver: 1, Wait: 1, Steps: 40},
				Runs:     1,
			},
		)
		if scenario.Successes(result) != 1 || result.Verdicts[trace.Fail] != 0 {
			t.Errorf("proxies %v: %+v", proxies, result)
		}
	}
	if !maps.Equal(seen[false], seen[true]) || len(seen[true]) == 0 {
		t.Errorf("the agent sees %v,\nproxies see %v", seen[false], seen[true])
	}
}
