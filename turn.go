package lockstep

import "github.com/lockstep-go/lockstep/trace"

// Turn is a scheduler's means to choose its next step: the run, to read, and the few actions that only a scheduler
// has.
type Turn struct{ Run }

// Forge makes the step that gives a message in flight another body, as a Byzantine sender would. The body is in the
// format that the system reads.
func (t *Turn) Forge(id trace.ID, body string) Step { return t.forge(id, body) }

func (r *Run) forge(id trace.ID, body string) Step {
	r.forged = append(r.forged, body)
	return Step{Kind: trace.Replace, Msg: id, Request: int32(len(r.forged) - 1)}
}

// OpenRound starts a lock-step round, to which the step chosen next belongs. Phases count from 1. Only messages between
// nodes of the kernel arrive in the round.
func (t *Turn) OpenRound(phase int, kernel Nodes) {
	t.opened = append(t.opened, openRound{phase, kernel})
}

// Sweep asks the engine to deliver all messages that are in flight now without asking the scheduler for each. The
// engine does that if the strategy's terms allow it ([Terms.Sweeps]) and no observer needs to see every step. It
// delivers the oldest first. It loses those that leave the kernel of the round last opened, and those for which a
// non-nil loses reports true. Sweep reports whether the engine does that: then the scheduler chooses no step, and is
// asked for the next one afterwards.
func (t *Turn) Sweep(loses func(*trace.Message) bool) bool {
	if !t.sweeps || !t.calm || t.draws.on {
		return false
	}
	t.until, t.kernel, t.loses = t.flying[len(t.flying)-1], t.opened[len(t.opened)-1].kernel, loses
	t.whole = t.kernel == t.all
	return true
}

// Recall sets the first draws of the step chosen next. A scheduler that repeats the steps of a recording calls it for
// each of them.
func (t *Turn) SetDraws(draws []trace.Draw) { t.draws.recall(draws) }

func (d *draws) recall(list []trace.Draw) {
	d.given = list
	d.on = d.on || len(list) > 0
}
