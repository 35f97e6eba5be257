package lockstep

import (
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// Player is the scheduler that repeats the actions of a script: the steps of a run, which refer to messages by name. So
// a script keeps its meaning after actions are left out of it or the system changes a little. If an action's message is
// not in flight, the player takes the newest message of its type on its link. If links keep an order ([Terms].Order),
// it takes the oldest. It skips an action that is impossible when its turn comes. A script may begin with an action of
// kind Start, which has the draws of the system at its start.
//
// Replaying, shrinking and the repetition of findings all use a Player.
type Player struct {
	script   trace.Script
	rounds   []trace.Round // of the run that the script is from
	at       int
	names    trace.Namer
	took     []int
	waits    waited
	waiter   bool // it waits for the system
	diverged int  // first action that was skipped or took another message; len(script): none
	seedOf   int  // the run whose seed to ask for, or -1
	drawn    map[string]string
}

// NewPlayer makes a player of a script. The rounds are those of the run that it is from, if that run has rounds.
func NewPlayer(script trace.Script, rounds []trace.Round) *Player {
	return &Player{script: script, rounds: rounds, diverged: len(script), seedOf: -1}
}

// Wait makes the player wait for a message or request that the next action needs and that the system has not yet sent
// or offered. It returns the player. It is for best-effort systems, which may be slower in a rerun. It is not for
// scripts with omitted actions, because many of their messages never come.
func (p *Player) Wait() *Player {
	p.waiter = true
	return p
}

// Reset begins a new run.
func (p *Player) Reset(s *Start) {
	p.at, p.took, p.diverged, p.waits = 0, p.took[:0], len(p.script), waited{}
	p.names.Reset()
	if len(p.script) > 0 && p.script[0].Step.Kind == trace.Start && p.script[0].Draws != nil {
		p.at, p.took, s.Draws = 1, append(p.took, 0), p.script[0].Draws
	}
	if p.seedOf >= 0 {
		s.SeedOf = p.seedOf
	}
}

// Next takes the next action that is possible. Actions that the script has in a settling stage are taken only in one.
func (p *Player) Next(turn *Turn, next *Step) bool {
	for all := turn.Messages(); p.names.Named() < len(all); {
		p.names.Add(&all[p.names.Named()])
	}
	for p.at < len(p.script) {
		a := &p.script[p.at]
		if a.Settle && !turn.settling {
			break
		}
		if p.early(turn, a) && p.waits.again(p.at) {
			*next = turn.Wait()
			return true
		}
		p.at++
		p.open(turn, a.Round)
		if a.Step.Kind == trace.Start { // here the scheduler had no step left, and the scenario continued
			return false
		}
		if step, ok := p.resolve(turn, a); ok {
			p.took = append(p.took, p.at-1)
			*next = step
			turn.SetDraws(a.Draws)
			return true
		}
		p.diverge()
	}
	if !turn.settling {
		p.open(turn, len(p.rounds))
	}
	return false
}

// waited counts how often the player waited for the system: at one action, and in all.
type waited struct{ at, here, all int }

// again reports whether one more wait at an action is worthwhile.
func (w *waited) again(at int) bool {
	if at != w.at {
		w.at, w.here = at, 0
	}
	w.here++
	w.all++
	return w.here <= 10 && w.all <= 50
}

// early reports whether the system has not sent or offered yet the message or request of an action, and may still do
// so.
func (p *Player) early(turn *Turn, a *trace.Action) bool {
	if !p.waiter || turn.info.Determinism != BestEffort || !turn.info.Supports.Has(trace.Wait) {
		return false
	}
	if a.Step.Kind == trace.Request {
		return turn.refusal(&a.Step) != ""
	}
	return a.Msg.Nth > 0 && p.names.Find(a.Msg) == 0
}

// open opens the rounds up to the given number.
func (p *Player) open(turn *Turn, number int) {
	for i := len(turn.opened); i < min(number, len(p.rounds)); i++ {
		turn.OpenRound(p.rounds[i].Phase, p.rounds[i].Kernel)
	}
}

func (p *Player) diverge() { p.diverged = min(p.diverged, p.at-1) }

// resolve finds the message of an action and reports whether the step is possible.
func (p *Player) resolve(turn *Turn, a *trace.Action) (Step, bool) {
	step := a.Step
	switch step.Kind {
	case trace.Deliver, trace.Drop, trace.Duplicate, trace.Replace:
		switch {
		case a.Again:
			step.Msg = p.names.Find(a.Msg)
		case a.Msg.Nth > 0:
			step.Msg = p.find(turn, a.Msg)
		}
		if step.Kind == trace.Replace && step.Msg != 0 {
			at := step.At
			step = turn.Forge(step.Msg, a.Body)
			step.At = at
		}
	}
	return step, turn.refusal(&step) == ""
}

// find is the message in flight of that name. If there is none, it is the newest message of its type on its link (the
// oldest if links keep an order), or 0.
func (p *Player) find(turn *Turn, name trace.Name) trace.ID {
	if id := p.names.Find(name); id != 0 && turn.messages[id-1].Fate.OnItsWay() {
		return id
	}
	p.diverge()
	alike := func(id trace.ID) bool {
		m := &turn.messages[id-1]
		return m.From == name.From && m.To == name.To && m.Type == name.Type
	}
	flying := turn.FreeMessages()
	if turn.lines.order != nil { // the newest would overtake the others
		if i := slices.IndexFunc(flying, alike); i >= 0 {
			return flying[i]
		}
		return 0
	}
	for _, id := range slices.Backward(flying) {
		if alike(id) {
			return id
		}
	}
	return 0
}

// Took lists the actions that the player took, by their index in the script.
func (p *Player) Took() []int { return p.took }

// Diverged is the index of the first action that the player skipped, or took with another message than the script
// names. It also reports whether there is such an action.
func (p *Player) Diverged() (int, bool) { return p.diverged, p.diverged < len(p.script) }

// Report returns the parameters drawn for the run that the script is from.
func (p *Player) Report(bool) SchedulerStats { return SchedulerStats{Drawn: p.drawn} }
