package strategy

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// action is what a choice does.
type action uint8

const (
	actRun     action = iota // a message is delivered to its node
	actCommit                // queues: a message moves from the network to the inbox of its link
	actRequest               // a request is given to a node
	actTimer                 // a timer fires
	actDrop                  // a message is lost
	actDup                   // a message is duplicated
	actSwap                  // queues: the first two messages on the network swap positions
	actIsolate               // a node is isolated
	actHeal                  // isolated nodes reconnect
	actionEnd
)

// choice is one possible next action. Choices are comparable, and a choice keeps its meaning as long as it stays
// possible.
type choice struct {
	act     action
	node    lockstep.Node // the node at which it happens; 0: none
	link    int32         // queues: the number of the link, from 1
	msg     trace.ID
	request int32
}

// menu lists the choices of a run and carries them out.
type menu interface {
	// reset begins a new run.
	reset()
	// look applies the changes of the last step.
	observe(turn *lockstep.Turn)
	// choices appends all choices that are possible now to the list. The order depends on the run alone: first the
	// choices that advance the system, then the faults.
	choices(turn *lockstep.Turn, list []choice) []choice
	// take carries out a choice. It reports false for a choice that is no step of the engine.
	perform(turn *lockstep.Turn, c choice, next *lockstep.Step) bool
	// left returns how often an action may still be taken, and whether it is bounded.
	left(act action) (int, bool)
	// hash returns a hash of the menu's state beyond the states of the nodes.
	hash(turn *lockstep.Turn) mix.Hash
}

// budget bounds how often each action is taken in a run.
type budget struct {
	bound, used [actionEnd]int
}

// unlimited is the bound of an unbounded action.
const unlimited = Unbounded

// free returns a budget in which no action is bounded.
func free() (b budget) {
	for i := range b.bound {
		b.bound[i] = unlimited
	}
	return b
}

func (b *budget) left(act action) (int, bool) {
	return b.bound[act] - b.used[act], b.bound[act] != unlimited
}

func (b *budget) allows(act action) bool {
	left, bounded := b.left(act)
	return !bounded || left > 0
}

// common appends the choices that all menus share: requests and timers.
func (b *budget) common(turn *lockstep.Turn, list []choice) []choice {
	if b.allows(actRequest) {
		for _, p := range turn.Pending() {
			for n := range (p.To & turn.Up()).All() {
				list = append(list, choice{act: actRequest, node: n, request: p.ID})
			}
		}
	}
	if b.allows(actTimer) {
		for n := range turn.Timers().All() {
			list = append(list, choice{act: actTimer, node: n})
		}
	}
	return list
}

// step fills in the engine's step, and reports whether the choice is one.
func (c choice) step(turn *lockstep.Turn, next *lockstep.Step) bool {
	switch c.act {
	case actRun:
		next.Kind, next.Msg = trace.Deliver, c.msg
	case actRequest:
		next.Kind, next.Node, next.Request = trace.Request, c.node, c.request
	case actTimer:
		next.Kind, next.Node = trace.Timer, c.node
	case actDrop:
		next.Kind, next.Msg = trace.Drop, c.msg
	case actDup:
		next.Kind, next.Msg = trace.Duplicate, c.msg
	case actIsolate:
		next.Kind, next.From, next.To = trace.Cut, trace.NodesOf(c.node), turn.All().Without(c.node)
	case actHeal:
		next.Kind, next.From, next.To = trace.Heal, turn.All(), turn.All()
	default: // only moves a message between the queues of the shadow network
		return false
	}
	return true
}

// messageHash returns a hash of a message without its number.
func messageHash(turn *lockstep.Turn, id trace.ID) uint64 {
	m := turn.Message(id)
	h := mix.Start
	h.Mix(uint64(m.From)<<8 | uint64(m.To))
	h.Text(m.Type)
	h.Mix(uint64(m.Tag.Phase)<<32 | uint64(uint32(m.Tag.Round)))
	h.Text(turn.Text(id))
	return uint64(h)
}

// hash returns a hash of the used part of the budget.
func (b *budget) hash() mix.Hash {
	h := mix.Start
	for act, bound := range b.bound {
		if bound != unlimited {
			h.Mix(uint64(act)<<32 | uint64(b.used[act]))
		}
	}
	return h
}
