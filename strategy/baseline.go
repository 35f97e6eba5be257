package strategy

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// Baseline is the random baseline of the papers. Messages are delivered in random order, and each is lost with
// probability Drop. When no message is in flight, the strategy gives a waiting request to a node or fires a timer. In a
// system with waits but without timers, it may let time pass instead. These alternatives are equally likely.
//
// Where the engine does not control single messages, cuts lose them. Each time interval passes, with probability Drop,
// under a cut of the nodes into two parts.
type Baseline struct {
	Drop  float64 `help:"probability of losing a message, in [0,1]" range:"0..1"`
	Steps int     `help:"length of a run; 0: as long as anything is possible" range:"0.."`
}

// DefaultBaseline uses the middle one of the papers' three probabilities.
var DefaultBaseline = Baseline{Drop: 0.25, Steps: 500}

// String returns the strategy as written on the command line.
func (b Baseline) String() string { return write("baseline", b) }

// Fit returns the terms on which the strategy explores the system.
func (b Baseline) Fit(info lockstep.Info) (lockstep.Terms, error) {
	return fit("baseline", b, info)
}

// check reports an invalid option, or why the strategy does not fit the system.
func (b Baseline) check(info lockstep.Info) error {
	need := trace.KindsOf(trace.Deliver, trace.Drop)
	switch {
	case rounds.Coarse(info) && b.Drop > 0:
		need = trace.KindsOf(trace.Cut, trace.Heal)
	case rounds.Coarse(info):
		need = 0
	case !rounds.Ticks(&info):
		need |= trace.KindsOf(trace.Timer)
	}
	return info.Require("baseline", need)
}

// guarantee returns what one run guarantees.
func (b Baseline) guarantee(lockstep.Info) lockstep.Guarantee {
	return lockstep.Guarantee{Class: "a given execution",
		Assumes: []string{"random order and loss have no lower bound that does not depend on the system"}}
}

// New returns a new scheduler.
func (b Baseline) New(info lockstep.Info) lockstep.Scheduler {
	return &baseline{
		Baseline: b,
		waits:    rounds.Coarse(info) || rounds.Ticks(&info),
		cuts:     rounds.Coarse(info) && b.Drop > 0 && info.Nodes > 1,
	}
}

type baseline struct {
	Baseline
	waits bool // time passes through waits
	cuts  bool // waits may be under a cut
	rand  *rand.Rand
	cut   lockstep.Step // the cut in force; zero: none
	ready bool          // whether the cut for the next time interval has been drawn
}

// Reset begins a new run.
func (b *baseline) Reset(s *lockstep.Start) { b.rand, b.cut, b.ready = s.Rand, lockstep.Step{}, false }

// Report reports nothing.
func (b *baseline) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }

// Next chooses the next step.
func (b *baseline) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if b.Steps > 0 && turn.Steps() >= b.Steps {
		return false
	}
	if flying := turn.FreeMessages(); len(flying) > 0 {
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
	timers, requests := turn.Timers(), givable(turn)
	switch b.drawKind(timers != 0, requests > 0) {
	case trace.Wait:
		b.pass(turn, next)
	case trace.Request:
		giveAny(b.rand, turn, next)
	case trace.Timer:
		next.Kind, next.Node = trace.Timer, pickNode(b.rand, timers)
	default:
		return false
	}
	return true
}

// drawKind draws the kind of the next step when no message is in flight. It returns Start when no step is possible.
func (b *baseline) drawKind(timers, requests bool) trace.Kind {
	var kinds [3]trace.Kind
	n := 0
	for _, k := range [...]struct {
		kind     trace.Kind
		possible bool
	}{{trace.Request, requests}, {trace.Timer, timers}, {trace.Wait, b.waits}} {
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

// pass lets time pass. If the cut must change, it cuts or heals first.
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
