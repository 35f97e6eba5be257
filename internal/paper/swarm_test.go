package main

import (
	"math"
	"testing"

	"github.com/lockstep-go/lockstep/kit/mutants"
)

// The sign test has the probabilities of fair coins, counted one by one.
func TestSignTest(t *testing.T) {
	for n := range 11 {
		for a := range n + 1 {
			even := 0
			for coins := range 1 << n {
				heads := 0
				for i := range n {
					heads += coins >> i & 1
				}
				if min(heads, n-heads) <= min(a, n-a) {
					even++
				}
			}
			want := float64(even) / float64(int(1)<<n)
			if got := signTest(a, n-a); math.Abs(got-want) > 1e-12 {
				t.Errorf("%d of %d: %g, want %g", a, n, got, want)
			}
		}
	}
}

// A campaign counts for the set of weights that needs fewer runs. A mutant that one of them does not find counts for
// the other.
func TestSwarmCounts(t *testing.T) {
	cell := func(found bool, runs int) mutants.Cell {
		c := mutants.Cell{Outcome: mutants.Survived, Runs: runs}
		if found {
			c.Outcome = mutants.Killed
		}
		return c
	}
	table := newSwarmTable(&swarmCmd{Seeds: 1, Runs: 10, Steps: 1}, 4)
	table.Rows = table.Rows[:2]
	table.add(&mutants.Table{Mutants: []mutants.Row{
		{Cells: []mutants.Cell{cell(true, 3), cell(true, 5)}},
		{Cells: []mutants.Cell{cell(true, 10), cell(false, 10)}},
		{Cells: []mutants.Cell{cell(false, 10), cell(true, 10)}},
		{Cells: []mutants.Cell{cell(false, 10), cell(false, 10)}},
	}})
	table.finish()
	swarm, other := table.Rows[0], table.Rows[1]
	if swarm.Found != 2 || swarm.Runs != 33 || other.Found != 2 || other.Fewer != 2 || other.More != 1 || other.P != 1 {
		t.Errorf("%+v %+v", swarm, other)
	}
}
