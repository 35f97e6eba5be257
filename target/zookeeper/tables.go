package zookeeper

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/published"
	"github.com/lockstep-go/lockstep/strategy"
)

// DefaultPhases is the number of phases at the start of a run into which the authors' tool injects faults, unless it is
// set (Config.phases in github.com/fniksic/zootester). The harness sc has five. More faults than fit there are not
// injected.
const DefaultPhases = 3

// TableOptions are the settings of the campaigns that measure the paper's tables 6 and 7 again.
type TableOptions struct {
	Version string
	Seed    uint64
	// Phases bounds the phases into which isolations fall; 0 means all.
	Phases int
	// Cold starts a process for each start of a server, as a user of the servers does, instead of JVMs that keep
	// running, as the paper's tests did.
	Cold bool
	// Model makes the runs with a model of 3.5.8, which takes no time. Late is the probability that a second follower
	// of the model connects after the leader serves.
	Model   bool
	Late    float64
	Scratch string
}

// Tables returns the rows of the paper's tables 6 and 7: div:0 to div:9, div:baseline, random:4, random:6, sc:0 to
// sc:15 and sc:baseline. The model has no baseline.
func Tables(o TableOptions) (rows []published.Row) {
	const each, randomEach = 1000, 12 * 1000
	for d, diverged := range []int{0, 0, 0, 2, 2, 0, 5, 4, 3, 0} {
		rows = append(rows, o.row("6", "div", d, each, diverged, 0, 0))
	}
	rows = append(rows, o.baseline("6", "div", each, 2, 0, 1), o.row("6", "random", 4, randomEach, 15, 0, 0),
		o.row("6", "random", 6, randomEach, 13, 1, 7))
	for d, diverged := range []int{0, 0, 0, 2, 1, 2, 2, 5, 6, 0, 0, 0, 0, 0, 0, 0} {
		dropped := 0
		if d == 6 {
			dropped = 2
		}
		rows = append(rows, o.row("7", "sc", d, each, diverged, 0, dropped))
	}
	rows = append(rows, o.baseline("7", "sc", each, 7, 0, 2))
	if !o.Model {
		return rows
	}
	var predicted []published.Row
	for _, r := range rows {
		if r.Plan.Scenario == nil {
			predicted = append(predicted, r)
		}
	}
	return predicted
}

// cluster returns the servers of a row.
func (t TableOptions) cluster(harness string) Cluster {
	return Cluster{
		Version:      t.Version,
		Harness:      harness,
		Warm:         !t.Cold,
		Steps:        3,
		Requests:     2,
		StartTimeout: 5 * time.Minute,
	}
}

// new returns a row with its figures: the runs in which servers diverged, no order explained the state, or a client was
// dropped.
func (t TableOptions) new(table, name string, runs, diverged, sc, dropped int, c Cluster) published.Row {
	r := published.Row{
		Table: table,
		Name:  name,
		Runs:  runs,
		Cells: []published.Cell{
			{Name: "diverged", Published: float64(diverged)},
			{Name: "no order", Published: float64(sc)},
			{Name: "client dropped", Published: float64(dropped)},
		},
		Plan:  lockstep.Plan{System: c, Spec: Properties, Settle: Settle, Workers: 1, Seed: t.Seed, Scratch: t.Scratch},
		Count: violations,
	}
	if t.Model {
		r.Plan.System, r.Plan.Workers = modelled{c, t.Late}, 0
	}
	return r
}

// violations counts the runs that violate each property.
var violations = published.Violations("equal-data", "sequential-consistency", "client-comes-back")

// row returns a row with isolations. A random harness has 3 steps with 2 requests for 4 isolations, and 5 with 4 for 6.
func (t TableOptions) row(table, harness string, isolations, runs, diverged, sc, dropped int) published.Row {
	c := t.cluster(harness)
	if harness == "random" && isolations == 6 {
		c.Steps, c.Requests = 5, 4
	}
	r := t.new(table, fmt.Sprint(harness, ":", isolations), runs, diverged, sc, dropped, c)
	if t.Phases > 0 {
		isolations = min(isolations, 3*t.Phases)
	}
	r.Plan.Strategy = strategy.Uniform{
		Period:     2,
		Rounds:     2 * c.steps(),
		Phases:     min(t.Phases, c.steps()),
		Isolations: isolations,
		By:         strategy.ByRestart,
		Sampler:    strategy.Paper,
	}
	return r
}

// baseline returns the row of random crashes and restarts.
func (t TableOptions) baseline(table, harness string, runs, diverged, sc, dropped int) published.Row {
	c := t.cluster(harness)
	c.Free = true
	r := t.new(table, harness+":baseline", runs, diverged, sc, dropped, c)
	r.Plan.Scenario, r.Plan.Strategy = Baseline(), strategy.DefaultWalk
	return r
}
