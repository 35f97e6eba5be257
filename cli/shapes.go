package cli

import (
	"fmt"
	"io"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// shapes describes the rounds of a target in a few runs in rounds, and names a strategy that is complete for it.
type shapes struct {
	Runs   int     `json:"runs"`
	Rounds []shape `json:"rounds"`
	// LeaderBased reports that all rounds were one-to-all or all-to-one.
	LeaderBased bool   `json:"leader_based"`
	Advice      string `json:"advice"`
}

type shape struct {
	Name     string `json:"name,omitempty"`
	OneToAll int    `json:"one_to_all"`
	AllToOne int    `json:"all_to_one"`
	Other    int    `json:"other"`
}

// shapeRuns and shapePhases bound the runs from which shapes are taken.
const (
	shapeRuns   = 200
	shapePhases = 8
)

// shapesOf observes the rounds of a target whose messages the engine controls. It returns nil if there are no rounds to
// observe.
func (e *Env) shapesOf(system lockstep.System, info lockstep.Info) (*shapes, error) {
	s := strategy.Lossy{Rounds: shapePhases * max(len(info.Rounds), 4), Loss: 0.2}
	if _, unfit := s.Fit(info); unfit != nil || !info.Supports.Has(trace.Deliver) {
		return nil, nil //nolint:nilerr // there is nothing to look at, which is no bug
	}
	found, err := lockstepform.ShapesOf(e.Ctx, lockstep.Plan{System: system, Strategy: s, Workers: 1}, shapeRuns)
	if err != nil {
		return nil, err
	}
	out := &shapes{Runs: found.Runs, LeaderBased: found.LeaderBased(), Advice: found.Advice()}
	for _, r := range found.Rounds {
		out.Rounds = append(out.Rounds, shape(r))
	}
	return out, nil
}

// write writes a line for each round, and the advice.
func (s *shapes) write(w io.Writer) {
	fmt.Fprintf(w, "    Rounds, in %d runs that lose a fifth of the messages: name, one-to-all, all-to-one, neither\n",
		s.Runs)
	for _, r := range s.Rounds {
		name := r.Name
		if name == "" {
			name = "(any)"
		}
		fmt.Fprintf(w, "      %-14s %8d %8d %8d\n", name, r.OneToAll, r.AllToOne, r.Other)
	}
	fmt.Fprintf(w, "    %s\n", s.Advice)
}
