package strategy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// Walk takes one random step after another. It first draws a kind of step by the given weights, among the possible
// kinds, then a possible step of that kind uniformly. A kind with weight 0 is never taken.
//
// On some systems, a weight counts for another kind of step:
//
//   - If the engine does not control single messages, Deliver and Duplicate count for Wait.
//   - In that case, Drop counts for Cut and for Heal or, if links cannot be cut, for Crash and for Restart.
//   - If the system has no timers but supports Wait, Timer counts for Wait.
type Walk struct {
	Deliver   int `help:"weight of delivering a message in flight" range:"0.."`
	Drop      int `help:"weight of losing a message in flight" range:"0.."`
	Duplicate int `help:"weight of duplicating a message in flight" range:"0.."`
	Timer     int `help:"weight of firing a timer" range:"0.."`
	Request   int `help:"weight of giving a waiting request to a node" range:"0.."`
	Crash     int `help:"weight of crashing a node, as long as not too many are down" range:"0.."`
	Restart   int `help:"weight of restarting a crashed node" range:"0.."`
	Cut       int `help:"weight of cutting the nodes into two parts, while none is cut" range:"0.."`
	Heal      int `help:"weight of healing the cut" range:"0.."`
	Wait      int `help:"weight of letting time pass, where the system advances without the engine" range:"0.."`
	Pause     int `help:"weight of pausing a node for a while, where the system can" range:"0.."`
	Jump      int `help:"weight of letting the clock of a node jump, where the system can" range:"0.."`
	Down      int `help:"nodes that may be down at once; 0: a minority" range:"0.."`
	Crashes   int `help:"crashes in a run at most; 0: any number" range:"0.."`
	Steps     int `help:"length of a run; 0: as long as anything is possible" range:"0.."`
}

// DefaultWalk favors delivery, which finds more bugs than equal weights: a run that delivers hardly any message tests
// nothing.
var DefaultWalk = Walk{Deliver: 10, Drop: 1, Timer: 1, Request: 1, Steps: 500}

// walkKinds lists the kinds of steps in the order of Walk's fields.
var walkKinds = [...]trace.Kind{trace.Deliver, trace.Drop, trace.Duplicate, trace.Timer, trace.Request,
	trace.Crash, trace.Restart, trace.Cut, trace.Heal, trace.Wait, trace.Pause, trace.Jump}

func (w Walk) weights() [len(walkKinds)]int {
	return [...]int{
		w.Deliver,
		w.Drop,
		w.Duplicate,
		w.Timer,
		w.Request,
		w.Crash,
		w.Restart,
		w.Cut,
		w.Heal,
		w.Wait,
		w.Pause,
		w.Jump,
	}
}

// lowered maps the weights to the kinds of steps that a system supports.
func (w Walk) lowered(info *lockstep.Info) Walk {
	if rounds.Coarse(*info) {
		if info.Supports.Has(trace.Crash) && !info.Supports.Has(trace.Cut) {
			w.Crash, w.Restart = w.Crash+w.Drop, w.Restart+w.Drop
		} else {
			w.Cut, w.Heal = w.Cut+w.Drop, w.Heal+w.Drop
		}
		w.Wait += w.Deliver + w.Duplicate
		w.Deliver, w.Drop, w.Duplicate = 0, 0, 0
	}
	if rounds.Ticks(info) {
		w.Wait, w.Timer = w.Wait+w.Timer, 0
	}
	return w
}

// String returns the strategy as written on the command line.
func (w Walk) String() string { return write("walk", w) }

// Fit returns the terms on which the strategy explores the system.
func (w Walk) Fit(info lockstep.Info) (lockstep.Terms, error) {
	return fit("walk", w, info)
}

// check reports an invalid option, or why the strategy does not fit the system.
func (w Walk) check(info lockstep.Info) error {
	total, need := 0, trace.Kinds(0)
	for i, weight := range w.lowered(&info).weights() {
		if weight > 0 && walkKinds[i] != trace.Request { // systems without clients have no requests
			need |= trace.KindsOf(walkKinds[i])
		}
		total += weight
	}
	if total == 0 {
		return fmt.Errorf("walk: every weight is 0, at least one must be positive")
	}
	if w.Down > info.Nodes {
		return fmt.Errorf("walk: down is %d, allowed are 0 to %d, the number of nodes", w.Down, info.Nodes)
	}
	return info.Require("walk", need)
}

// guarantee returns what one run guarantees.
func (w Walk) guarantee(lockstep.Info) lockstep.Guarantee {
	return lockstep.Guarantee{Class: "a given execution",
		Assumes: []string{"a random walk has no lower bound that does not depend on the system"}}
}

// New returns a new scheduler.
func (w Walk) New(info lockstep.Info) lockstep.Scheduler {
	k := &walker{steps: w.Steps, down: cmp.Or(w.Down, (info.Nodes-1)/2), crashes: cmp.Or(w.Crashes, math.MaxInt)}
	for i, weight := range w.lowered(&info).weights() {
		if weight > 0 {
			k.kinds = append(k.kinds, weighted{walkKinds[i], weight})
			k.has |= trace.KindsOf(walkKinds[i])
		}
	}
	k.faults = k.has&^(onMessages|trace.KindsOf(trace.Timer, trace.Request)) != 0
	return k
}

// walker chooses among the weighted kinds of steps.
type walker struct {
	steps   int
	down    int // nodes that may be down at once
	crashes int // maximum crashes in a run
	kinds   []weighted
	has     trace.Kinds // kinds with a weight
	faults  bool        // kinds other than message steps, timers and requests have a weight
	rand    *rand.Rand

	crashed int         // crashes so far
	last    trace.Kinds // the kinds that were possible at the previous step
	total   int         // sum of their weights
}

type weighted struct {
	kind   trace.Kind
	weight int
}

// Reset begins a new run.
func (w *walker) Reset(s *lockstep.Start) { w.rand, w.crashed = s.Rand, 0 }

// Report reports nothing.
func (w *walker) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }

// Next chooses the next step.
func (w *walker) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if w.steps > 0 && turn.Steps() >= w.steps {
		return false
	}
	possible := w.possible(turn)
	if possible == 0 {
		return false
	}
	if possible != w.last {
		w.last, w.total = possible, 0
		for _, k := range w.kinds {
			if possible.Has(k.kind) {
				w.total += k.weight
			}
		}
	}
	if kind := w.kind(possible, w.rand.IntN(w.total)); kind == trace.Deliver { // the most frequent kind
		deliver(turn, pick(w.rand, turn.FreeMessages()), next)
	} else {
		w.draw(turn, kind, next)
	}
	return true
}

// kind returns the possible kind at which the cumulative weight exceeds a number.
func (w *walker) kind(possible trace.Kinds, at int) trace.Kind {
	for i := range w.kinds {
		if k := &w.kinds[i]; possible.Has(k.kind) {
			if at -= k.weight; at < 0 {
				return k.kind
			}
		}
	}
	panic("strategy: walk drew beyond the total of its weights")
}

const onMessages = trace.Kinds(1<<trace.Deliver | 1<<trace.Drop | 1<<trace.Duplicate)

// possible returns the weighted kinds of which a step is possible.
func (w *walker) possible(turn *lockstep.Turn) trace.Kinds {
	var k trace.Kinds
	if len(turn.FreeMessages()) > 0 {
		k |= onMessages
	}
	if turn.AnyTimer() {
		k |= 1 << trace.Timer
	}
	if canGive(turn) {
		k |= 1 << trace.Request
	}
	if w.faults {
		k |= w.possibleFaults(turn)
	}
	return k & w.has
}

// possibleFaults returns the possible kinds other than message steps, timers and requests.
func (w *walker) possibleFaults(turn *lockstep.Turn) trace.Kinds {
	k := trace.Kinds(1 << trace.Wait)
	if w.crashed < w.crashes && (turn.All()&^turn.Up()).Len() < w.down {
		k |= 1 << trace.Crash
	}
	if turn.Up() != turn.All() {
		k |= 1 << trace.Restart
	}
	if turn.Up() != 0 {
		k |= 1<<trace.Pause | 1<<trace.Jump
	}
	switch cut := anyCut(turn); {
	case cut:
		k |= 1 << trace.Heal
	case turn.All().Len() > 1:
		k |= 1 << trace.Cut
	}
	return k
}

// draw chooses a possible step of a kind other than delivery.
func (w *walker) draw(turn *lockstep.Turn, k trace.Kind, next *lockstep.Step) {
	next.Kind = k
	if k == trace.Crash {
		w.crashed++
	}
	switch k {
	case trace.Drop, trace.Duplicate:
		next.Msg = pick(w.rand, turn.FreeMessages())
	case trace.Timer:
		next.Node = pickNode(w.rand, turn.Timers())
	case trace.Request:
		giveAny(w.rand, turn, next)
	case trace.Crash, trace.Pause, trace.Jump:
		next.Node = pickNode(w.rand, turn.Up())
	case trace.Restart:
		next.Node = pickNode(w.rand, turn.All()&^turn.Up())
	case trace.Cut:
		drawCut(w.rand, turn, next)
	case trace.Heal:
		next.From, next.To = turn.All(), turn.All()
	case trace.Wait:
		*next = turn.Wait()
	}
}
