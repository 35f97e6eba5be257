package strategy

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Walk takes a random step after the other. It first draws a kind of step with the
// weights given, among the kinds that are possible, then one of the possible steps of
// that kind with equal chances. A kind with weight 0 is never taken.
type Walk struct {
	Deliver   int `help:"weight of delivering a message in flight"`
	Drop      int `help:"weight of losing a message in flight"`
	Duplicate int `help:"weight of duplicating a message in flight"`
	Alarm     int `help:"weight of firing an alarm"`
	Request   int `help:"weight of giving a waiting request to a node"`
	Crash     int `help:"weight of crashing a node, as long as a minority is down"`
	Restart   int `help:"weight of restarting a crashed node"`
	Cut       int `help:"weight of cutting the nodes into two parts, while none is cut"`
	Heal      int `help:"weight of healing the cut"`
	Steps     int `help:"length of a run; 0: as long as anything is possible"`
}

// DefaultWalk favours delivery, which finds more than equal weights: a run in which
// nothing gets through tests nothing.
var DefaultWalk = Walk{Deliver: 10, Drop: 1, Alarm: 1, Request: 1, Steps: 500}

// walkKinds are the kinds of step in the order of Walk's fields.
var walkKinds = [...]lockstep.Kind{trace.Deliver, trace.Drop, trace.Duplicate, trace.Alarm, trace.Request,
	trace.Crash, trace.Restart, trace.Cut, trace.Heal}

func (w Walk) weights() [len(walkKinds)]int {
	return [...]int{w.Deliver, w.Drop, w.Duplicate, w.Alarm, w.Request, w.Crash, w.Restart, w.Cut, w.Heal}
}

// String implements [lockstep.Strategy].
func (w Walk) String() string { return write("walk", w) }

// Check implements [lockstep.Strategy].
func (w Walk) Check(info lockstep.Info) error {
	total, need := 0, lockstep.Kinds(0)
	for i, weight := range w.weights() {
		if weight < 0 {
			return fmt.Errorf("walk: the weight of %s is %d, it must not be negative", walkKinds[i], weight)
		}
		if weight > 0 && walkKinds[i] != trace.Request { // systems without clients have no requests
			need |= trace.KindsOf(walkKinds[i])
		}
		total += weight
	}
	if total == 0 {
		return fmt.Errorf("walk: every weight is 0, at least one must be positive")
	}
	if w.Steps < 0 {
		return fmt.Errorf("walk: steps is %d, it must not be negative", w.Steps)
	}
	return info.Require("walk", need)
}

// Guarantee implements [lockstep.Strategy].
func (w Walk) Guarantee(lockstep.Info) lockstep.Guarantee {
	return lockstep.Guarantee{Class: "a given execution",
		Assumes: []string{"a random walk has no lower bound that does not depend on the system"}}
}

// New implements [lockstep.Strategy].
func (w Walk) New(lockstep.Info) lockstep.Scheduler {
	return &walker{Walk: w, weight: w.weights()}
}

type walker struct {
	Walk
	weight [len(walkKinds)]int
	rand   *rand.Rand
}

// Reset implements [lockstep.Scheduler].
func (w *walker) Reset(s lockstep.Start) { w.rand = s.Rand }

// Next implements [lockstep.Scheduler].
func (w *walker) Next(run *lockstep.Run) (lockstep.Step, bool) {
	if w.Steps > 0 && run.Steps() >= w.Steps {
		return lockstep.Step{}, false
	}
	total := 0
	var possible [len(walkKinds)]int
	for i, weight := range w.weight {
		if weight > 0 && w.possible(run, walkKinds[i]) {
			possible[i] = weight
			total += weight
		}
	}
	if total == 0 {
		return lockstep.Step{}, false
	}
	at := w.rand.IntN(total)
	for i, weight := range possible {
		if at -= weight; at < 0 {
			return w.draw(run, walkKinds[i]), true
		}
	}
	panic("strategy: walk drew beyond the total of its weights")
}

func (w *walker) possible(run *lockstep.Run, k lockstep.Kind) bool {
	switch k {
	case trace.Deliver, trace.Drop, trace.Duplicate:
		return len(run.InFlight()) > 0
	case trace.Alarm:
		return run.Alarms() != 0
	case trace.Request:
		return givable(run) > 0
	case trace.Crash:
		return (run.Info().Nodes - run.Up().Len()) < (run.Info().Nodes-1)/2
	case trace.Restart:
		return run.Up() != trace.AllNodes(run.Info().Nodes)
	case trace.Cut:
		return run.Info().Nodes > 1 && !anyCut(run)
	default: // Heal
		return anyCut(run)
	}
}

func (w *walker) draw(run *lockstep.Run, k lockstep.Kind) lockstep.Step {
	all := trace.AllNodes(run.Info().Nodes)
	switch k {
	case trace.Deliver:
		return deliver(run, pick(w.rand, run.InFlight()))
	case trace.Drop, trace.Duplicate:
		return lockstep.Step{Kind: k, Msg: pick(w.rand, run.InFlight())}
	case trace.Alarm:
		return lockstep.Step{Kind: k, Node: pickNode(w.rand, run.Alarms())}
	case trace.Request:
		return giveAny(w.rand, run)
	case trace.Crash:
		return lockstep.Step{Kind: k, Node: pickNode(w.rand, run.Up())}
	case trace.Restart:
		return lockstep.Step{Kind: k, Node: pickNode(w.rand, all&^run.Up())}
	case trace.Cut:
		part := lockstep.Nodes(1 + w.rand.Uint64N(uint64(all)-1)) // neither empty nor all
		return lockstep.Step{Kind: k, From: part, To: all &^ part}
	default:
		return lockstep.Step{Kind: k, From: all, To: all}
	}
}
