package zookeeper

import (
	"testing"

	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// The plans of all rows are valid: a row is as long as its harness.
func TestRows(t *testing.T) {
	rows := Tables(TableOptions{Seed: 1, Phases: DefaultPhases})
	for _, r := range rows {
		info, err := r.Plan.System.Describe()
		if err != nil {
			t.Fatal(r.Name, err)
		}
		if _, err := r.Plan.Strategy.Fit(info); err != nil {
			t.Error(r.Name, err)
		}
		c := target.Fill(r.Plan.System.(Cluster))
		if u, ok := r.Plan.Strategy.(strategy.Uniform); ok && u.Rounds != 2*len(c.harness(1)) {
			t.Errorf("%s has %d rounds for %s", r.Name, u.Rounds, c.harness(1))
		}
	}
	if n := len(rows); n != 11+2+17 {
		t.Errorf("%d rows", n)
	}
}
