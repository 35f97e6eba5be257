package lockstep_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// The crash of a Byzantine node costs nothing, and that of another node a crash of the budget.
func TestByzantineCrashes(t *testing.T) {
	forge := lockstep.Step{Kind: trace.Replace, Msg: 2}
	for node, verdict := range map[lockstep.Node]trace.Verdict{1: trace.Pass, 2: trace.Unknown} {
		result := enginetest.Explore(t, lockstep.Plan{
			System:   toy.Cluster(nil),
			Strategy: toy.Steps{toy.Timer1, forge, {Kind: trace.Crash, Node: node}},
			Budget:   &lockstep.Budget{Byzantine: 1},
			Spec:     toy.Checker{},
			Runs:     1,
		})
		if result.Verdicts[verdict] != 1 {
			t.Errorf("node 1 is Byzantine and node %d crashes: %v, %v", node, result.Verdicts, result.Reasons)
		}
	}
}

// A cut between all nodes does not separate a node from itself.
func TestCutKeepsOwnMessages(t *testing.T) {
	tr := toy.One(t, lockstep.Plan{System: toy.Cluster(nil), Spec: toy.AtEnd, Strategy: toy.Steps{
		{Kind: trace.Cut, From: trace.AllNodes(3), To: trace.AllNodes(3)}, toy.Timer1, toy.Deliver(1)}})
	if got := toy.Events(tr); !slices.Equal(got, []string{"1 got 1"}) {
		t.Errorf("%q", got)
	}
}

// A rerun in which the same property fails in another way does not confirm a finding.
func TestAnotherTextIsFlaky(t *testing.T) {
	runs := 0
	result := enginetest.Explore(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: strategy.DefaultWalk, Runs: 1,
		Workers: 1, Spec: toy.Checker{AtEnd: func(*lockstep.Run) *lockstep.Finding {
			runs++
			return &lockstep.Finding{Property: "checker", Text: fmt.Sprint("in run ", runs)}
		}}})
	if f := result.First(); f == nil || !strings.HasPrefix(f.Flaky, "the second time it was ") {
		t.Errorf("%+v", f)
	}
}

// The settling stage gives requests to the nodes in turn.
func TestSettlingGivesRequestsInTurn(t *testing.T) {
	tr := toy.One(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{}, Spec: toy.AtEnd, Settle: 60})
	nodes := map[string]bool{}
	for _, e := range toy.Events(tr) {
		if node, _, ok := strings.Cut(e, " request "); ok {
			nodes[node] = true
		}
	}
	if len(nodes) != 2 {
		t.Errorf("two requests were given to the nodes %v: %q", nodes, toy.Events(tr))
	}
}

// In the place of a message that is missing, a replay takes the newest of its type on its link.
func TestPlayerTakesTheNewest(t *testing.T) {
	plan := lockstep.Plan{System: toy.Cluster(nil), Spec: toy.AtEnd,
		Strategy: toy.Steps{toy.Timer1, toy.Timer1, toy.Timer1, toy.Deliver(8)}} // the third message from 1 to 2
	of := toy.One(t, plan)
	runner, err := lockstep.NewRunnerFor(plan, of)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	tr, err := runner.Record(t.Context(), 0, lockstep.NewPlayer(trace.ScriptOf(of)[1:], nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := toy.Events(tr); !slices.Equal(got, []string{"2 got 2"}) {
		t.Errorf("%q", got)
	}
}

// A run does not see the times of timers of the run before.
func TestTimesBelongToTheirRun(t *testing.T) {
	starts := 0
	result := enginetest.Explore(t, lockstep.Plan{
		System:   toy.Cluster(func(c *sim.Context[int], _ int) { c.SetTimeout(50) }),
		Strategy: toy.Steps{toy.Timer1, toy.Deliver(2)}, // node 2 sets a timer
		Runs:     2,
		Workers:  1,
		Spec: toy.Checker{OnStep: func(r *lockstep.Run) *lockstep.Finding {
			if r.Steps() > 0 {
				return nil
			}
			if starts++; r.TimerAt(2) != 0 {
				t.Errorf("a run begins with the time %d", r.TimerAt(2))
			}
			return nil
		}},
	})
	if result.Runs != 2 || starts != 2 {
		t.Errorf("%d runs, %d starts", result.Runs, starts)
	}
}
