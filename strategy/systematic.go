package strategy

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/trace"
)

// Systematic explores all choices up to its bounds, depth first, with one run for each path through the tree of
// choices. The campaign ends when the tree is exhausted. The result says that it is complete to this bound, or how far
// it came. Runs build on each other, so one worker executes all of them. A system that draws random numbers draws the
// same ones in every run.
//
// The choices are: deliver a message, give a request, fire a timer, lose or duplicate a message, isolate a node,
// reconnect isolated nodes.
//
// Of several orders of independent choices, the reduction sleep (Godefroid's sleep sets) executes exactly one. Three
// restrictions apply. Intermediate states that occur only in the other orders are not checked. Nodes must not act on
// the clock. A scenario must not make an event at one node depend on another node.
//
// The reduction states ends a run in a state that was reached before with as many choices left. It needs the
// fingerprints of the system, and a spec that checks states, not histories.
type Systematic struct {
	// Network is the network model; the zero value is AnyOrder.
	Network Network `help:"any: messages in flight arrive in any order; queues: links with commit, drop, swap and dup"`
	// Reduce selects which runs are skipped; the zero value is none.
	Reduce Reduction `help:"none, sleep: one of several equivalent orders, or states: nothing twice from the same state"`

	Steps      int `help:"choices of a run, at most" range:"1.."`
	Timers     int `help:"timers that fire in a run, at most; -1: no bound" range:"-1.."`
	Losses     int `help:"messages lost in a run, at most; -1: no bound" range:"-1.."`
	Duplicates int `help:"messages duplicated in a run, at most" range:"0.."`
	Isolations int `help:"isolations in a run, at most, where the network is any" range:"0.."`
	// Distance bounds how many places swaps may move a message in all, forward or back from the order of sending.
	Distance int `help:"places that swaps may move a message in all, forward or back, where the network is queues" range:"0.."`
	// Delays bounds how often a choice that was possible earlier is skipped, as in delay-bounded scheduling; Unbounded
	// removes the bound. It is no time, and it cannot be combined with a reduction.
	Delays int `help:"choices passed over in a run, at most; -1: no bound" range:"-1.."`
	// Redundant also takes pairs of actions on one link that lead to no new state: swap swap, dup swap and dup drop. It
	// is for the network of Queues.
	Redundant bool `help:"take also swap swap, dup swap and dup drop, where the network is queues"`
}

// DefaultSystematic is small enough to be exhausted on small systems.
var DefaultSystematic = Systematic{Reduce: SleepSets, Steps: 40, Timers: 2, Losses: 1, Delays: Unbounded}

// Network is the network model of a systematic search.
type Network uint8

// The networks.
const (
	// AnyOrder delivers any message in flight next. It can lose, duplicate and isolate.
	AnyOrder Network = iota
	// QueueNetwork is the network of the strategy Queues.
	QueueNetwork
)

var networkNames = []string{"any", "queues"}

// Words lists the names of all networks, for the parser of options.
func (Network) Words() []string { return networkNames }

// String returns the name of the network.
func (n Network) String() string { return option.Word(networkNames, int(n)) }

// Reduction says how a systematic search skips runs.
type Reduction uint8

// The reductions.
const (
	NoReduction Reduction = iota // it skips none
	SleepSets                    // it takes one of several equivalent orders
	States                       // it does not continue from a state from which it has continued before
)

var reductionNames = []string{"none", "sleep", "states"}

// Words lists the names of all reductions, for the parser of options.
func (Reduction) Words() []string { return reductionNames }

// String returns the name of the reduction.
func (r Reduction) String() string { return option.Word(reductionNames, int(r)) }

// String returns the strategy as written on the command line.
func (s Systematic) String() string { return write("systematic", s) }

// Fit returns the terms on which the strategy explores the system.
func (s Systematic) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if err := fits("systematic", s, info); err != nil {
		return lockstep.Terms{}, err
	}
	t := lockstep.Terms{Guarantee: s.guarantee(info), Sequential: true, Texts: s.Reduce == States}
	if s.Network == QueueNetwork {
		t.Order = &trace.Order{Distance: s.Distance, Redundant: s.Redundant}
	}
	return t, nil
}

// check reports an invalid option, or why the strategy does not fit the system.
func (s Systematic) check(info lockstep.Info) error {
	switch {
	case s.Delays >= 0 && s.Reduce != NoReduction:
		return fmt.Errorf(
			"systematic: delays is %d, but orders that reduce=%s takes for the same need different delays: set reduce=none "+
				"or delays=%d",
			s.Delays,
			s.Reduce,
			Unbounded,
		)
	case s.Network == AnyOrder && (s.Distance > 0 || s.Redundant):
		return fmt.Errorf("systematic: distance and redundant need network=queues")
	case s.Network == QueueNetwork && s.Isolations > 0:
		return fmt.Errorf("systematic: isolations needs network=any")
	case s.Reduce != NoReduction && info.OneClock:
		return fmt.Errorf(
			"systematic: the nodes of %s live by one clock, so that what one of them does matters to the timers of all: use "+
				"reduce=none",
			info.Name,
		)
	case info.Determinism != lockstep.Deterministic:
		return fmt.Errorf(
			"systematic: %s may do different things after the same steps, so that a search cannot go back", info.Name)
	}
	need := trace.KindsOf(trace.Deliver)
	for _, c := range []struct {
		wanted bool
		kinds  trace.Kinds
	}{{s.Losses != 0, trace.KindsOf(trace.Drop)}, {s.Duplicates > 0, trace.KindsOf(trace.Duplicate)},
		{s.Timers != 0, trace.KindsOf(trace.Timer)}, {s.Isolations > 0, trace.KindsOf(trace.Cut, trace.Heal)}} {
		if c.wanted {
			need |= c.kinds
		}
	}
	return info.Require("systematic", need)
}

// guarantee returns what one run guarantees.
func (s Systematic) guarantee(lockstep.Info) lockstep.Guarantee {
	return lockstep.Guarantee{Class: "a given execution within the bounds",
		Assumes: []string{"nothing is drawn: a search that ends complete has made every execution within its bounds"}}
}

// New returns a new scheduler.
func (s Systematic) New(info lockstep.Info) lockstep.Scheduler {
	b := free()
	b.bound[actTimer], b.bound[actDrop], b.bound[actDup], b.bound[actIsolate] =
		s.Timers, s.Losses, s.Duplicates, s.Isolations
	search := &search{depth: s.Steps, delays: s.Delays, reduce: s.Reduce}
	if s.Network == QueueNetwork {
		q := newQueues(info)
		q.budget, q.distance, q.redundant = b, s.Distance, s.Redundant
		search.menu = q
	} else {
		search.menu = &anyOrder{budget: b, nodes: info.Nodes}
	}
	if s.Reduce == States {
		search.met = map[mix.Hash]int{}
	}
	return search
}
