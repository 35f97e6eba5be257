package strategy

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// queues is the network of Walker and Runciman's shadow threads. Each directed link has two queues. Faults can affect
// the messages on the network, but not those in the inbox. Commit moves the first message of the network to the inbox.
// Drop loses it, dup duplicates it, and swap exchanges it with the one behind it. Run delivers the first message of the
// inbox to its node.
type queues struct {
	budget
	distance  int             // how far a message may move from its position in sending order
	redundant bool            // also take pairs of actions that lead to no new state
	never     [actionEnd]bool // faults that are never chosen
	nodes     int
	fifo      bool

	links   []queue // by from*nodes + to-1
	used    []int32 // links in the order of their first message
	seen    int     // number of sent messages already processed
	count   int     // messages in the queues
	doubled int32   // link whose first message is being duplicated, or -1
}

type queue struct {
	network []parcel
	inbox   []trace.ID
	known   bool   // the link is among the links in use
	last    action // the last action on the network; actRun: none that matters
}

// parcel is a message on the network, with the number of positions that it moved back.
type parcel struct {
	id    trace.ID
	moved int
}

func newQueues(info lockstep.Info) *queues {
	return &queues{budget: free(), nodes: info.Nodes, fifo: info.FIFO, links: make([]queue, (info.Nodes+1)*info.Nodes)}
}

func (q *queues) reset() {
	q.budget.used = [actionEnd]int{}
	for _, l := range q.used {
		link := &q.links[l]
		link.network, link.inbox, link.last, link.known = link.network[:0], link.inbox[:0], actRun, false
	}
	q.used, q.seen, q.count, q.doubled = q.used[:0], 0, 0, -1
}

// observe puts new messages on the network.
func (q *queues) observe(turn *lockstep.Turn) {
	for _, m := range turn.Messages()[q.seen:] {
		if turn.IsFree(m.ID) {
			q.push(m)
		}
	}
	q.seen, q.doubled = len(turn.Messages()), -1
	if q.count != len(turn.FreeMessages()) {
		q.reconcile(turn)
	}
}

// push appends a message to its link, or inserts a duplicate behind its original.
func (q *queues) push(m trace.Message) {
	l := int32(int(m.From)*q.nodes + int(m.To) - 1)
	link := &q.links[l]
	if !link.known {
		link.known = true
		q.used = append(q.used, l)
	}
	q.count++
	if q.doubled == l {
		link.network = slices.Insert(link.network, 1, parcel{m.ID, link.network[0].moved})
		q.doubled = -1
		return
	}
	link.network = append(link.network, parcel{id: m.ID})
}

// reconcile applies the actions of a scenario: messages that the scenario took leave the queues, and messages that it
// released join them.
func (q *queues) reconcile(turn *lockstep.Turn) {
	known := make([]bool, q.seen+1)
	q.count = 0
	for _, l := range q.used {
		link := &q.links[l]
		link.network = slices.DeleteFunc(link.network, func(p parcel) bool {
			known[p.id] = true
			return !turn.IsFree(p.id)
		})
		link.inbox = slices.DeleteFunc(link.inbox, func(id trace.ID) bool {
			known[id] = true
			return !turn.IsFree(id)
		})
		link.last = actRun
		q.count += len(link.network) + len(link.inbox)
	}
	for _, id := range turn.FreeMessages() {
		if !known[id] {
			q.push(*turn.Message(id))
		}
	}
}

// choices lists the choices that are possible now.
func (q *queues) choices(turn *lockstep.Turn, list []choice) []choice {
	start := len(list)
	for _, l := range q.used {
		link := &q.links[l]
		if len(link.inbox) > 0 {
			id := link.inbox[0]
			if !turn.IsFree(id) { // a scenario took it
				q.reconcile(turn)
				return q.choices(turn, list[:start])
			}
			if turn.Deliverable(id) {
				list = append(list, choice{act: actRun, link: l + 1, node: turn.Message(id).To})
			}
		}
		if len(link.network) > 0 {
			if !turn.IsFree(link.network[0].id) {
				q.reconcile(turn)
				return q.choices(turn, list[:start])
			}
			list = append(list, choice{act: actCommit, link: l + 1})
		}
	}
	list = q.common(turn, list)
	for _, act := range [...]action{actDrop, actDup, actSwap} {
		if q.never[act] || !q.allows(act) {
			continue
		}
		for _, l := range q.used {
			if q.possible(&q.links[l], act) {
				list = append(list, choice{act: act, link: l + 1})
			}
		}
	}
	return list
}

// possible reports whether a fault makes sense on a link. There must be a message for it that does not move too far.
// The fault must not merely undo or repeat the previous action.
func (q *queues) possible(link *queue, act action) bool {
	if len(link.network) == 0 {
		return false
	}
	switch act {
	case actDrop:
		return q.redundant || link.last != actDup
	case actSwap:
		return !q.fifo && len(link.network) > 1 && (q.redundant || link.last != actSwap && link.last != actDup) &&
			link.network[0].moved < q.distance && link.network[1].moved > -q.distance
	default:
		return !q.fifo
	}
}

// linkOf returns the link of a choice, or an arbitrary link if the choice has none.
func (q *queues) linkOf(c choice) *queue { return &q.links[max(c.link-1, 0)] }

// perform carries out a choice.
func (q *queues) perform(turn *lockstep.Turn, c choice, next *lockstep.Step) bool {
	q.budget.used[c.act]++
	link := q.linkOf(c)
	switch c.act {
	case actRun:
		c.msg = link.inbox[0]
		link.inbox = slices.Delete(link.inbox, 0, 1)
		q.count--
	case actCommit:
		link.inbox = append(link.inbox, link.network[0].id)
		link.network = slices.Delete(link.network, 0, 1)
		link.last = actRun
	case actDrop:
		c.msg = link.network[0].id
		link.network = slices.Delete(link.network, 0, 1)
		link.last = actDrop
		q.count--
	case actDup:
		c.msg = link.network[0].id
		link.last = actDup
		q.doubled = c.link - 1
	case actSwap:
		n := link.network
		n[0], n[1] = n[1], n[0]
		n[0].moved--
		n[1].moved++
		link.last = actSwap
	}
	return c.step(turn, next)
}

// hash combines the queues and the used part of the budget.
func (q *queues) hash(turn *lockstep.Turn) mix.Hash {
	h := q.budget.hash()
	for l := range q.links {
		link := &q.links[l]
		for _, p := range link.network {
			h.Mix(messageHash(turn, p.id))
			h.Mix(uint64(p.moved))
		}
		h.Mix(uint64(link.last))
		for _, id := range link.inbox {
			h.Mix(messageHash(turn, id))
		}
		h.Mix(uint64(l))
	}
	return h
}
