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
	"github.com/lockstep-go/lockstep/target/smr"
)

// deeds is an observer that counts the runs by all their steps.
type deeds map[string]int

func (deeds) New(lockstep.Info) lockstep.Watcher { return &deed{} }
func (d deeds) Collect(_ int, noted any)         { d[noted.(string)]++ }

type deed struct{ text strings.Builder }

func (d *deed) Reset()     { d.text.Reset() }
func (d *deed) Noted() any { return d.text.String() }
func (d *deed) Observe(run *lockstep.Run) {
	s := run.Last()
	fmt.Fprint(&d.text, s.Kind, s.Node, s.Msg, s.Request, ";")
}

// Skipping ineffective isolations misses no effect. The walk by effects covers everything that the walk through all
// executions covers, in fewer runs, and accounts for every execution.
func TestEffectsAgainstBruteForce(t *testing.T) {
	tier.NotShort(t)
	for _, system := range []lockstep.System{
		smr.Cluster{Nodes: 3, Bug: true},
		smr.Cluster{Nodes: 3, Requests: 2},
		pbft.Cluster{},
		raft.Cluster{Requests: 2},
	} {
		for _, u := range []strategy.Uniform{
			{Period: 4, Isolations: 3, Rounds: 8},
			{Period: 3, Isolations: 2, Rounds: 9},
			{Period: 3, Isolations: 3, Rounds: 10, Phases: 2},
			{Period: 2, Isolations: 2, Rounds: 7, Isolated: strategy.CutOff},
			{Period: 4, Isolations: 2, Rounds: 8, Isolated: strategy.Held},
		} {
			all, some := deeds{}, deeds{}
			u.Sampler = strategy.Every
			every := enginetest.Explore(t,
				lockstep.Plan{System: system, Strategy: u, Runs: 1 << 20, Observers: []lockstep.Observer{all}})
			u.Sampler = strategy.EveryEffective
			fewer := enginetest.Explore(t,
				lockstep.Plan{System: system, Strategy: u, Runs: 1 << 20, Observers: []lockstep.Observer{some}})
			for what := range all {
				if some[what] == 0 {
					t.Fatalf("%T, %s: one effect of %d is missing", system, u, len(all))
				}
			}
			if len(some) != len(all) || 10*fewer.Runs > 11*len(all) {
				t.Errorf("%T, %s: %d of %d effects in %d runs of %d", system, u, len(some), len(all), fewer.Runs,
					every.Runs)
			}
			if want := fmt.Sprintf("complete to this bound: %d of %d executions", every.Runs,
				every.Runs); !strings.HasPrefix(fewer.Reached, want) ||
				!fewer.Guarantee.Certain {
				t.Errorf("%s, want %s", fewer.Reached, want)
			}
		}
	}
}
