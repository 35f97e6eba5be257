//go:build lockstep_overlay

package etcdserver

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
)

// Members survive disks of a minority that fail, are full at times or write a part, links that break connections,
// restarts with other configurations, and kills while they start: they stop with an error, or continue.
func TestBrokenDisks(t *testing.T) {
	seen := map[string]int{}
	var tallies []lockstep.Spec
	for _, event := range []string{bubble.Failed, bubble.Exited, bubble.Killed, bubble.Reconfigured,
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
	passed(t, r)
}
