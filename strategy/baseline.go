package strategy

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// Baseline is the baseline of the papers: messages arrive in random order and each is
// lost with the probability Drop. When nothing is in flight, a waiting request is given
// to a node, an alarm fires or, where the system has waits but no alarms, time passes, with
// equal chances.
//
// Where messages are not in the engine's hands, they are lost by cuts: each stretch of time
// passes under a cut of the nodes into two parts with the probability Drop.
type Baseline struct {
	Drop  float64 `help:"probability of losing a message, in [0,1]" range:"0..1"`
	Steps int     `help:"length of a run; 0: as long as anything is possible" range:"0.."`
}

// DefaultBaseline has the middle one of the papers' three probabilities.
var DefaultBaseline = Baseline{Drop: 0.25, Steps: 500}

// String is the strategy as written on the command line.
func (b Baseline) String() string { return write("baseline", b) }

// Fit says on which terms the strategy explores such a system.
func (b Baseline) Fit(info lockstep.Info) (lockstep.Terms, error) {
	return fit("baseline", b, info)
}

// check reports what is wrong with the options, or why the system does not fit.
func (b Baseline) check(info lockstep.Info) error {
	need := trace.KindsOf(trace.Deliver, trace.Drop)
	switch {
	case rounds.Coarse(info) && b.Drop > 0:
		need = trace.KindsOf(trace.Cut, trace.Heal)
	case rounds.Coarse(info):
		need = 0
	case !rounds.Ticks(&info):
		need |= trace.KindsOf(trace.Alarm)
	}
	return info.Require("baseline", need)
}

// guarantee is what one run promises.
func (b Baseline) guarantee(lockstep.Info) lockstep.Guarantee {
	return lockstep.Guarantee{Class: "a given execution",
		Assumes: []string{"random order and loss have no lower bound that does not depend on the system"}}
}

// New makes a scheduler.
func (b Baseline) New(info lockstep.Info) lockstep.Scheduler {
	return &baseline{Baseline: b, waits: rounds.Coarse(info) || rounds.Ticks(&info), cuts: rounds.Coarse(info) && b.Drop > 0 && info.Nodes > 1}
}

type baseline struct {
	Baseline
	waits bool // time passes by waits
	cuts  bool // under cuts
	rand  *rand.Rand
	cut   lockstep.Step // in force; none: zero
	ready bool          // whether there is a cut has been drawn for the next stretch of time
}

// Reset begins a new run.
func (b *baseline) Reset(s *lockstep.Start) { b.rand, b.cut, b.ready = s.Rand, lockstep.Step{}, false }

// Tell has nothing to tell.
func (b *baseline) Tell(bool) lockstep.Account { return lockstep.Account{} }

// Next chooses the next step.
func (b *baseline) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if b.Steps > 0 && turn.Steps() >= b.Steps {
		return false
	}
	if flying := turn.InFlight(); len(flying) > 0 {
		id := pick(b.rand, flying)
		if b.rand.Float64() < b.Drop {
			next.Kind, next.Msg = trace.Drop, id
		} else {
			deliver(turn, id, next)
		}
		return true
	}
	if b.ready {
		b.pass(turn, next)
		return true
	}
	alarms, requests := turn.Alarms(), givable(turn)
	switch b.drawKind(alarms != 0, requests > 0) {
	case trace.Wait:
		b.pass(turn, next)
	case trace.Request:
		giveAny(b.rand, turn, next)
	case trace.Alarm:
		next.Kind, next.Node = trace.Alarm, pickNode(b.rand, alarms)
	default:
		return false
	}
	return true
}

// drawKind draws what happens when nothing is in flight, or Start when nothing can.
func (b *baseline) drawKind(alarms, requests bool) trace.Kind {
	var kinds [3]trace.Kind
	n := 0
	for _, k := range [...]struct {
		kind     trace.Kind
		possible bool
	}{{trace.Request, requests}, {trace.Alarm, alarms}, {trace.Wait, b.waits}} {
		if k.possible {
			kinds[n] = k.kind
			n++
		}
	}
	if n < 2 {
		return kinds[0]
	}
	return kinds[b.rand.IntN(n)]
}

// pass lets time pass, after a step that cuts or heals where the cut is to change.
func (b *baseline) pass(turn *lockstep.Turn, next *lockstep.Step) {
	if b.cuts && !b.ready {
		b.ready = true
		switch is, want := b.cut.Kind == trace.Cut, b.rand.Float64() < b.Drop; {
		case want && !is:
			drawCut(b.rand, turn, next)
			b.cut = *next
			return
		case is && !want:
			*next, b.cut = b.cut, lockstep.Step{}
			next.Kind = trace.Heal
			return
		}
	}
	b.ready = false
	*next = turn.Wait()
}
