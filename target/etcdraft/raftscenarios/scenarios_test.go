package raftscenarios_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
)

// runs are few here; the command in the folder table makes a thousand of each.
const runs = 40

// TestCases: on every version each scenario succeeds at least as often as published, no part
// of it is vacuous, and nothing is found that should not be.
func TestCases(t *testing.T) {
	for _, v := range raftscenarios.Versions {
		for _, c := range raftscenarios.Cases {
			t.Run(v.Name+"/"+c.Name, func(t *testing.T) {
				r, err := c.Measure(context.Background(), v, raftscenarios.Strategy, runs, 1)
				if err != nil {
					t.Fatal(err)
				}
				if !r.Holds() {
					t.Errorf("%d of %d succeed, published %d%%; never %q; %d findings (%s); unknown %v",
						r.Successes, r.Runs, r.Outcome, r.Never, r.Findings, r.Finding, r.Reasons)
				}
				if r.Control >= r.Successes && c.Name != "DropFVotes" { // which is about what needs no help
					t.Errorf("%d of %d succeed without the filters, %d with them", r.Control, r.Runs, r.Successes)
				}
				if r.Ours.Lines == 0 || r.Ours.Filters == 0 || r.Ours.States == 0 || r.Share == 0 {
					t.Errorf("size %+v, share %v", r.Ours, r.Share)
				}
				t.Logf("plain %d ours %d control %d share %.2f", r.Plain, r.Successes, r.Control, r.Share)
			})
		}
	}
}
