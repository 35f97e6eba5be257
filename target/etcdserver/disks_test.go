//go:build lockstep_overlay

package etcdserver

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Members survive disks of a minority that fail, are full at times or write a part, links that break connections,
// restarts with other configurations, and kills while they start: they stop with an error, or continue. A member whose
// request to publish its name is refused at once repeats it without a pause. Virtual time does not pass then, so such a
// run is inconclusive, after a minute of real time.
func TestBrokenDisks(t *testing.T) {
	tier.OnlyFull(t, "a run in which a member repeats a request without a pause takes a minute")
	seen := map[string]int{}
	var tallies []lockstep.Spec
	for _, event := range []string{bubble.FailedCall, bubble.Exited, bubble.Killed, bubble.Reconfigured,
		bubble.ConnectionReset} {
		tallies = append(tallies, spec.OnEvent(event, event,
			func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
				seen[event]++
				return nil
			}))
	}
	c := Cluster{Power: 0.5, Snapshots: 20, Clients: 3, Requests: 15, FaultOptions: bubble.FaultOptions{
		SyncErrors: 0.005, WriteErrors: 0.003, ReadErrors: 0.01, FullDisk: 0.003, ShortWrites: 0.05, StartKills: 0.3,
		Reconfigure: 0.5, Resets: 0.002,
	}}
	r := campaign(t, lockstep.Plan{
		System: c, Strategy: faults, Runs: max(*runs, 4), Settle: Settle,
		Spec: spec.All(append(tallies, Everything)...),
	})
	if t.Log(seen); len(seen) < len(tallies) {
		t.Errorf("only these faults occurred: %v", seen)
	}
	if r.Findings() > 0 || 2*r.Verdicts[trace.Pass] < r.Runs {
		t.Errorf("%v, %+v", r.Verdicts, r.First())
	}
}
