package lockstep

import (
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// Player is the scheduler that takes the steps of a script again. Messages go by their
// names, so that a script still means the same when steps were left out of it or the
// system was changed a little. An action whose message is not in flight takes the newest one
// of its type on its link instead, or the oldest where links keep an order, and one that is impossible when its turn comes is
// skipped; Took tells which were taken as written. A script may begin with what the system is to
// draw when it starts: an action of kind Start with draws.
//
// Replaying, shrinking and the repetition of findings are all played by it.
type Player struct {
	script trace.Script
	rounds []trace.Round // of the run that the script is from
	at     int
	names  trace.Namer
	took   []int
	waits  patient
	waiter bool // it waits for the system
	strays int  // the action that was skipped or took another message first; len(script): none
	seedOf int  // the run whose seed to ask for, or -1
	drawn  map[string]string
}

// NewPlayer makes a player of a script. The rounds are those of the run that it is from,
// where it is in rounds.
func NewPlayer(script trace.Script, rounds []trace.Round) *Player {
	return &Player{script: script, rounds: rounds, strays: len(script), seedOf: -1}
}

// Patiently lets the player wait for what the system has not sent or offered yet, and returns it. A system that repeats itself only roughly
// may be slower than it was; of a script that steps were left out of, much never comes.
func (p *Player) Patiently() *Player {
	p.waiter = true
	return p
}

// Reset begins a new run.
func (p *Player) Reset(s *Start) {
	p.at, p.took, p.strays, p.waits = 0, p.took[:0], len(p.script), patient{}
	p.names.Reset()
	if len(p.script) > 0 && p.script[0].Step.Kind == trace.Start && p.script[0].Draws != nil {
		p.at, p.took, s.Draws = 1, append(p.took, 0), p.script[0].Draws
	}
	if p.seedOf >= 0 {
		s.SeedOf = p.seedOf
	}
}

// Next takes the next action that is possible. Those of the settling stage are taken only
// in one.
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
		if a.Step.Kind == trace.Start { // here the scheduler had nothing left, and the scenario went on
			return false
		}
		if step, ok := p.resolve(turn, a); ok {
			p.took = append(p.took, p.at-1)
			*next = step
			turn.Recall(a.Draws)
			return true
		}
		p.stray()
	}
	if !turn.settling {
		p.open(turn, len(p.rounds))
	}
	return false
}

// patient counts how often the system was waited for: at one action, and in all.
type patient struct{ at, here, all int }

// again reports whether it is worth while to wait once more at an action.
func (w *patient) again(at int) bool {
	if at != w.at {
		w.at, w.here = at, 0
	}
	w.here++
	w.all++
	return w.here <= 10 && w.all <= 50
}

// early reports whether the system has not sent yet what an action is about, or not offered it, and may still do so.
func (p *Player) early(turn *Turn, a *trace.Action) bool {
	if !p.waiter || turn.info.Repeats != Roughly || !turn.info.Supports.Has(trace.Wait) {
		return false
	}
	if a.Step.Kind == trace.Request {
		return turn.refusal(&a.Step) != ""
	}
	return a.Msg.Nth > 0 && p.names.Find(a.Msg) == 0
}

// open opens the rounds up to the number given.
func (p *Player) open(turn *Turn, number int) {
	for i := len(turn.opened); i < min(number, len(p.rounds)); i++ {
		turn.OpenRound(p.rounds[i].Phase, p.rounds[i].Kernel)
	}
}

func (p *Player) stray() { p.strays = min(p.strays, p.at-1) }

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

// find is the message in flight of that name or, where there is none, the newest of its
// type on its link; or 0.
func (p *Player) find(turn *Turn, name trace.Name) trace.ID {
	if id := p.names.Find(name); id != 0 && turn.messages[id-1].Fate.OnItsWay() {
		return id
	}
	p.stray()
	alike := func(id trace.ID) bool {
		m := &turn.messages[id-1]
		return m.From == name.From && m.To == name.To && m.Type == name.Type
	}
	flying := turn.InFlight()
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

// Took lists the actions that were taken, by their index in the script.
func (p *Player) Took() []int { return p.took }

// Strayed is the index of the first action that could not be taken as written, and whether
// there was one.
func (p *Player) Strayed() (int, bool) { return p.strays, p.strays < len(p.script) }

// Tell tells what was drawn for the run that the script is from.
func (p *Player) Tell(bool) Account { return Account{Drawn: p.drawn} }
