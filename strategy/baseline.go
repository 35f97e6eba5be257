package strategy

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Baseline is the baseline of the papers: messages arrive in random order and each is
// lost with the probability Drop. When nothing is in flight, a waiting request is given
// to a node or an alarm fires, with equal chances. A system that moves by itself gets time
// instead, and with the probability Drop a request.
type Baseline struct {
	Drop  float64 `help:"probability of losing a message, in [0,1]"`
	Steps int     `help:"length of a run; 0: as long as anything is possible"`
}

// DefaultBaseline has the middle one of the papers' three probabilities.
var DefaultBaseline = Baseline{Drop: 0.25, Steps: 500}

// String is the strategy as written on the command line.
func (b Baseline) String() string { return write("baseline", b) }

// Fit says on which terms the strategy explores such a system.
func (b Baseline) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if err := b.check(info); err != nil {
		return lockstep.Terms{}, err
	}
	return lockstep.Terms{Guarantee: b.guarantee(info)}, nil
}

// check reports what is wrong with the options, or why the system does not fit.
func (b Baseline) check(info lockstep.Info) error {
	if !(b.Drop >= 0 && b.Drop <= 1) {
		return fmt.Errorf("baseline: drop is %v, allowed is [0,1]", b.Drop)
	}
	if b.Steps < 0 {
		return fmt.Errorf("baseline: steps is %d, it must not be negative", b.Steps)
	}
	if moves(&info) {
		return nil
	}
	need := trace.KindsOf(trace.Deliver, trace.Drop)
	if !clockOnly(&info) {
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
func (b Baseline) New(lockstep.Info) lockstep.Scheduler { return &baseline{Baseline: b} }

type baseline struct {
	Baseline
	rand *rand.Rand
}

// Reset begins a new run.
func (b *baseline) Reset(s *lockstep.Start) { b.rand = s.Rand }

// Tell has nothing to tell.
func (b *baseline) Tell(bool) lockstep.Account { return lockstep.Account{} }

// Next chooses the next step.
func (b *baseline) Next(run *lockstep.Run, next *lockstep.Step) bool {
	if b.Steps > 0 && run.Steps() >= b.Steps {
		return false
	}
	if flying := run.InFlight(); len(flying) > 0 {
		id := pick(b.rand, flying)
		if b.rand.Float64() < b.Drop {
			next.Kind, next.Msg = trace.Drop, id
		} else {
			deliver(run, id, next)
		}
		return true
	}
	alarms, requests := run.Alarms(), givable(run)
	switch {
	case clockOnly(run.Info()):
		if *next = run.Wait(); requests > 0 && b.rand.Float64() < b.Drop {
			*next = lockstep.Step{}
			giveAny(b.rand, run, next)
		}
	case alarms == 0 && requests == 0:
		return false
	case alarms == 0 || requests > 0 && b.rand.IntN(2) == 0:
		giveAny(b.rand, run, next)
	default:
		next.Kind, next.Node = trace.Alarm, pickNode(b.rand, alarms)
	}
	return true
}
