package strategy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// After a complete enumeration nothing else is random. With any seed, a campaign executes the same runs and has the
// same findings, unless the system itself draws and declares that.
func TestCompleteWhateverTheSeed(t *testing.T) {
	tier.NotShort(t)
	for _, system := range []lockstep.System{
		smr.Cluster{Nodes: 3, Bug: true, Requests: 6},
		pbft.Cluster{},
		raft.Cluster{Requests: 5},
		register.Cluster{Nodes: 3, Requests: 5},
	} {
		info, err := system.Describe()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []lockstep.Strategy{
			strategy.Uniform{Period: 4, Isolations: 2, Rounds: 12, Sampler: strategy.Every},
			strategy.Lossy{Period: 4, Losses: 1, Rounds: 12, Sampler: strategy.Every}} {
			met := map[string]bool{}
			for seed := range uint64(3) {
				result := enginetest.Explore(
					t,
					lockstep.Plan{
						System:    system,
						Strategy:  s,
						Spec:      checkedBySpec(system),
						Seed:      seed,
						Runs:      1 << 20,
						KeepGoing: true,
						Keep:      1,
					},
				)
				met[fmt.Sprint(result.Runs, result.Steps, result.Messages, result.Verdicts)] = true
				want := "complete to this bound: all " + fmt.Sprint(
					result.Runs,
				) + " executions, for the given workload, with requests in their order to the nodes in turn"
				if info.Draws != "" {
					want += ", and one draw of the election time-outs of " + info.Name
				}
				if result.Reached != want {
					t.Errorf("%s: %s, want %s", s, result.Reached, want)
				}
				if g := result.Guarantee; !strings.HasPrefix(g.String(), "certain: ") || g.After(1) != 1 {
					t.Errorf("%s: %s", s, g)
				}
			}
			if len(met) > 1 && info.Draws == "" {
				t.Errorf("%s on %s, which draws %q: three seeds make %v", s, info.Name, info.Draws, met)
			}
		}
	}
}

// checkedBySpec returns a spec for a system, if the system has a bug.
func checkedBySpec(system lockstep.System) lockstep.Spec {
	if _, ok := system.(smr.Cluster); ok {
		return smr.Prefix
	}
	return nil
}

// An incomplete walk is not certain.
func TestNotCertain(t *testing.T) {
	g := enginetest.Explore(t, lockstep.Plan{System: smr.Cluster{Nodes: 3}, Runs: 5,
		Strategy: strategy.Uniform{Period: 4, Isolations: 2, Rounds: 12, Sampler: strategy.Every}}).Guarantee
	if g.Certain || strings.Contains(g.String(), "certain") {
		t.Error(g)
	}
}

// A completed systematic search is certain, and an incomplete one is not.
func TestSystematicIsCertain(t *testing.T) {
	for runs, want := range map[int]bool{1 << 20: true, 5: false} {
		r := enginetest.Explore(t, lockstep.Plan{System: chain(3, 2), Strategy: strategy.DefaultSystematic, Runs: runs})
		if r.Guarantee.Certain != want || strings.HasPrefix(r.Guarantee.String(), "certain") != want {
			t.Errorf("after %d runs: %s", r.Runs, r.Guarantee)
		}
	}
}

// The number of requests of a run does not depend on the period.
func TestRequestsDoNotDependOnPeriod(t *testing.T) {
	for _, system := range []lockstep.System{smr.Cluster{Nodes: 3, Requests: 30}, raft.Cluster{Requests: 20}} {
		for _, period := range []int{1, 2, 4, 8} {
			for _, s := range []lockstep.Strategy{
				strategy.Uniform{Period: period, Rounds: 24},
				strategy.Lossy{Period: period, Rounds: 24},
				strategy.Lossy{Rounds: 24},
			} {
				given := 0
				enginetest.Explore(
					t,
					lockstep.Plan{System: system, Strategy: s, Runs: 1, Spec: perStep(func(r *lockstep.Run) {
						if r.Last().Kind == trace.Request {
							given++
						}
					})},
				)
				if given != 6 {
					t.Errorf("%T, %s: %d requests", system, s, given)
				}
			}
		}
	}
}

// perStep is a spec that calls a function after each step.
type perStep func(*lockstep.Run)

func (perStep) Properties() []string                     { return nil }
func (p perStep) New(lockstep.Info) lockstep.Monitor     { return p }
func (perStep) Reset()                                   {}
func (p perStep) Step(r *lockstep.Run) *lockstep.Finding { p(r); return nil }
func (perStep) End(*lockstep.Run) *lockstep.Finding      { return nil }
func (perStep) EventsOnly() bool                         { return false }
func (perStep) Conclude(bool) (c lockstep.Conclusion)    { return c }

// By default, isolated nodes reconnect after a phase of the protocol.
func TestPeriodOfTheProtocol(t *testing.T) {
	need := trace.KindsOf(trace.Deliver, trace.Drop, trace.Timer)
	for _, c := range []struct {
		rounds []string
		period int
		want   string
	}{
		{[]string{"A", "B", "C", "D", "E", "F"}, 0, "6-periodic"},
		{nil, 0, "4-periodic"},
		{[]string{"A", "B"}, 3, "3-periodic"},
	} {
		s := strategy.DefaultUniform
		s.Period = c.period
		terms, err := s.Fit(lockstep.Info{Name: "x", Nodes: 3, Supports: need, Rounds: c.rounds})
		if err != nil || !strings.Contains(terms.Guarantee.Class, c.want) {
			t.Errorf("%v, period %d: %s, %v, want %s", c.rounds, c.period, terms.Guarantee.Class, err, c.want)
		}
	}
}
