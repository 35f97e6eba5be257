package lockstep

import "github.com/lockstep-go/lockstep/trace"

// Turn is a scheduler's means to choose its next step: the run, to read, and the few actions that only a scheduler
// has.
type Turn struct{ Run }

// Forge makes a Replace step: it gives a message in flight another body, as a Byzantine sender would. The body is in
// the text format that the system parses ([Outbox.Forged]).
func (t *Turn) Forge(id trace.ID, body string) Step { return t.forge(id, body) }

func (r *Run) forge(id trace.ID, body string) Step {
	r.forged = append(r.forged, body)
	return Step{Kind: trace.Replace, Msg: id, Request: int32(len(r.forged) - 1)}
}

// OpenRound records that a lock-step round begins, to which the step chosen next belongs. Phases count from 1. The
// kernel is the set of nodes that hear each other in the round. The scheduler itself drops the messages that leave the
// kernel, or lets [Turn.Sweep] drop them.
func (t *Turn) OpenRound(phase int, kernel Nodes) {
	t.opened = append(t.opened, openRound{phase, kernel})
}

// Sweep asks the engine to take over all free messages: to deliver them, oldest first, without asking the scheduler for
// each. The engine drops those that leave the kernel of the round last opened, and those for which a non-nil loses
// reports true.
//
// Sweep reports whether the engine will do so. Then Next must report true without writing a step, and the engine calls
// it again after these messages. If Sweep reports false, nothing happens, and the scheduler chooses the steps. There
// are three reasons: [Terms].Sweeps is false; something must see every step, e.g. a scenario or a recording; or not
// every free message is deliverable, because a node is down or links keep an order.
func (t *Turn) Sweep(loses func(*trace.Message) bool) bool {
	if !t.sweeps || !t.calm || t.draws.on {
		return false
	}
	t.until, t.kernel, t.loses = t.flying[len(t.flying)-1], t.opened[len(t.opened)-1].kernel, loses
	t.whole = t.kernel == t.all
	return true
}

// SetDraws sets the first draws of the step chosen next: what the system draws in it. A scheduler that repeats recorded
// steps calls it for each of them.
func (t *Turn) SetDraws(draws []trace.Draw) { t.draws.recall(draws) }

func (d *draws) recall(list []trace.Draw) {
	d.given = list
	d.on = d.on || len(list) > 0
}
