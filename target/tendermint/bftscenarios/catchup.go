package bftscenarios

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/tendermint"
	"github.com/lockstep-go/lockstep/trace"
)

// CatchUp measures how long h takes to reach the round of the others, in virtual time, after it was so many rounds
// behind and hears them again: one time for each run in which it arrives.
func CatchUp(ctx context.Context, rounds int32, runs int, seed uint64) ([]time.Duration, error) {
	c := &catching{rounds: rounds}
	plan := Plan(Lagging(rounds, true), runs, seed)
	s := Strategy
	s.Steps *= max(1, int(rounds)/5) // the others take as many more
	plan.Strategy, plan.Steps = s, s.Steps
	plan.Observers = []lockstep.Observer{c}
	_, err := lockstep.Explore(ctx, plan)
	return c.times, err
}

// catching is the observer of CatchUp.
type catching struct {
	rounds int32
	times  []time.Duration
}

// New makes a watcher.
func (c *catching) New(lockstep.Info) lockstep.Watcher { return &catchUp{rounds: c.rounds} }

// Collect records the time of a run.
func (c *catching) Collect(_ int, noted any) {
	if t, ok := noted.(time.Duration); ok {
		c.times = append(c.times, t)
	}
}

// catchUp measures one run.
type catchUp struct {
	rounds          int32
	there           lockstep.Nodes // the validators that have reached the round
	since, arrived  trace.Time
	others, measure bool
}

// Reset begins a new run.
func (c *catchUp) Reset() { *c = catchUp{rounds: c.rounds} }

// Observe looks for the validators' steps.
func (c *catchUp) Observe(run *lockstep.Run) {
	events := run.Events()
	for i := range events {
		s, ok := events[i].Value.(*tendermint.Step)
		if !ok || s.Height != 1 || s.Round < c.rounds {
			continue
		}
		c.there = c.there.With(events[i].Node)
		if !c.others && c.there.Len() >= 2*f+1 {
			c.others, c.since = true, run.Now()
		}
		if c.others && !c.measure && c.there.Has(h) {
			c.measure, c.arrived = true, run.Now()
		}
	}
}

// Noted returns the time, or nothing if h did not arrive.
func (c *catchUp) Noted() any {
	if !c.measure {
		return nil
	}
	return time.Duration(c.arrived - c.since)
}
