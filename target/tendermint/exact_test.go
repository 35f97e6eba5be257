//go:build lockstep_overlay

package tendermint

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/processes"
	"github.com/lockstep-go/lockstep/strategy"
)

// Built with the overlay, runs are the same in every process: in calm, with losses, crashes and
// slow disks, and with a liar.
func TestExactly(t *testing.T) {
	processes.Same(t, func() (digests []string) {
		for _, p := range []lockstep.Plan{
			{System: Cluster{}, Strategy: strategy.Walk{Deliver: 20, Wait: 2, Steps: 300}},
			{System: Cluster{Slow: 0.1}, Strategy: strategy.Walk{Deliver: 40, Wait: 4, Drop: 1, Crash: 1, Restart: 2, Steps: 300}},
			{System: Cluster{}, Strategy: strategy.Walk{Deliver: 40, Wait: 4, Steps: 300}, Scenario: Liars(1, 4)},
		} {
			p.Spec, p.Seed = Safety, 3
			d, err := bubble.Digest(t.Context(), p, exactRuns)
			if err != nil {
				t.Fatal(err)
			}
			digests = append(digests, fmt.Sprintf("%s %s", p.Strategy, d))
		}
		return digests
	})
}

// exactRuns is the number of seeds of each plan: about a hundred together.
const exactRuns = 34
