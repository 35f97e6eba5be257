package lockstep

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// Run is one execution in progress, as schedulers, directors and monitors see it.
// Slices and pointers it hands out are valid until the next step and must not be
// written to.
type Run struct {
	info   Info
	system Deployment
	limits Limits
	out    Outbox
	hand   Hand

	steps    int
	now      Time
	last     *Step // the step last taken; it and next take turns in pair
	next     *Step // the step being chosen
	pair     [2]Step
	events   []Event
	sent     int // messages sent before the last step
	settling bool
	settled  bool
	finished bool     // a director ended the run
	finding  *Finding // of a director
	queue    []Step   // of a director
	broken   error    // a mistake of a director
	over     string   // the limit that was reached
	digest   uint64

	messages []Message // by ID-1
	status   []status  // likewise
	flying   []ID      // in flight and free for the strategy, ascending; a window of flyBase
	flyBase  []ID

	all, up    Nodes
	alarms     Nodes
	heldAlarms Nodes   // those that a director keeps from the strategy
	alarmAt    []Time  // by node
	cut        []Nodes // by sender: the receivers that its messages do not reach
	pending    []Pending
	reserved   []Pending // those that a director keeps from the strategy
	given      string    // text of the request last given
	forged     []string  // bodies made up for Replace steps
	bodies     ID        // bodies that the system holds
	faults     Faults
	losses     losses
}

// status is where a message is.
type status uint8

const (
	inFlight status = iota
	held            // in flight, but in the hands of the scenario
	delivered
	lost
)

// Faults counts the faults that a run introduced, by scenario and strategy together.
type Faults struct {
	Lost       int   // messages to nodes that were up, dropped or sent into a cut
	Duplicated int   // messages duplicated
	Crashed    Nodes // nodes that crashed at least once
	Forged     Nodes // senders of replaced messages
	Cut        int   // cut steps
}

func newRun(info Info, limits Limits) *Run {
	r := &Run{info: info, limits: limits, all: trace.AllNodes(info.Nodes),
		alarmAt: make([]Time, info.Nodes+1), cut: make([]Nodes, info.Nodes+1), losses: newLosses(info.Nodes)}
	r.out.run, r.hand.run = r, r
	return r
}

func (r *Run) reset(d Deployment) {
	*r = Run{info: r.info, system: d, limits: r.limits, out: r.out, hand: r.hand,
		events: r.events[:0], queue: r.queue[:0], pending: r.pending[:0], reserved: r.reserved[:0],
		messages: r.messages[:0], status: r.status[:0], flying: r.flyBase[:0], flyBase: r.flyBase,
		forged: r.forged[:0], all: r.all, up: r.all, alarmAt: r.alarmAt, cut: r.cut, losses: r.losses, digest: 1}
	r.last, r.next = &r.pair[0], &r.pair[1]
	clear(r.cut)
	r.losses.reset()
}

// Info is what the system said of itself.
func (r *Run) Info() Info { return r.info }

// Deployment is the system under test, for monitors that look into it.
func (r *Run) Deployment() Deployment { return r.system }

// Steps is the number of steps taken so far.
func (r *Run) Steps() int { return r.steps }

// Now is the virtual time.
func (r *Run) Now() Time { return r.now }

// Last is the step last taken; its Kind is trace.Start before the first.
func (r *Run) Last() *Step { return r.last }

// Events are what the last step let the outside see.
func (r *Run) Events() []Event { return r.events }

// Sent are the messages that the last step sent, lost ones included.
func (r *Run) Sent() []Message { return r.messages[r.sent:] }

// Messages are all messages sent so far, in order: the message with number i is at i-1.
func (r *Run) Messages() []Message { return r.messages }

// Message is the envelope of a message.
func (r *Run) Message(id ID) *Message { return &r.messages[id-1] }

// Body is the system's own message, where the deployment gives access, or nil.
func (r *Run) Body(id ID) any {
	if b, ok := r.system.(Bodies); ok {
		return b.Body(r.messages[id-1].Body)
	}
	return nil
}

// InFlight lists the messages that a strategy may deliver or drop, oldest first.
func (r *Run) InFlight() []ID { return r.flying }

// IsInFlight reports whether a message is in flight and free for the strategy.
func (r *Run) IsInFlight(id ID) bool {
	return id >= 1 && int(id) <= len(r.status) && r.status[id-1] == inFlight
}

// Deliverable reports whether a message in flight may be delivered now: its receiver
// is up and, where links are FIFO, no older message is in flight on its link.
func (r *Run) Deliverable(id ID) bool {
	m := &r.messages[id-1]
	return r.up.Has(m.To) && (!r.info.FIFO || r.Head(id) == id)
}

// Head is the oldest message in flight on the link of the message given.
func (r *Run) Head(id ID) ID {
	m := &r.messages[id-1]
	for _, other := range r.flying {
		if o := &r.messages[other-1]; o.From == m.From && o.To == m.To {
			return other
		}
	}
	return id
}

// FIFO reports whether links are FIFO.
func (r *Run) FIFO() bool { return r.info.FIFO }

// All is the set of all nodes.
func (r *Run) All() Nodes { return r.all }

// Up is the set of nodes that are not crashed.
func (r *Run) Up() Nodes { return r.up }

// Alarms is the set of nodes whose alarm may fire.
func (r *Run) Alarms() Nodes { return r.alarms & r.up &^ r.heldAlarms }

// AlarmAt is the time for which a node's alarm is set.
func (r *Run) AlarmAt(n Node) Time { return r.alarmAt[n] }

// Pending lists the requests that may be given to a node.
func (r *Run) Pending() []Pending { return r.pending }

// Reserved lists the requests that a director keeps from the strategy.
func (r *Run) Reserved() []Pending { return r.reserved }

// Cut is the set of nodes that messages from n do not reach.
func (r *Run) Cut(n Node) Nodes { return r.cut[n] }

// Forge makes the step that gives a message in flight another body, as a Byzantine
// sender would. The body is in the words that the system reads.
func (r *Run) Forge(id ID, body string) Step {
	r.forged = append(r.forged, body)
	return Step{Kind: trace.Replace, Msg: id, Request: int32(len(r.forged) - 1)}
}

// Faults counts the faults introduced so far.
func (r *Run) Faults() Faults { return r.faults }

// Settling reports whether the run is in its settling stage.
func (r *Run) Settling() bool { return r.settling }

// Settled reports whether the run has gone through its settling stage.
func (r *Run) Settled() bool { return r.settled }

// send enters a message into the books. It takes the fields one by one: a Message is too
// large for registers, and building one only to copy it costs as much as the rest.
func (r *Run) send(from, to Node, kind string, tag Tag, at Time, body ID) ID {
	id := ID(len(r.messages) + 1)
	if to < 1 || int(to) > r.info.Nodes || int(from) > r.info.Nodes {
		panic(fmt.Sprintf("lockstep: the system sent a message from node %d to node %d of %d", from, to, r.info.Nodes))
	}
	r.messages = append(r.messages, Message{ID: id, Body: body, From: from, To: to, Type: kind, Tag: tag, At: at})
	r.mix(uint64(from)<<40 | uint64(to)<<32 | uint64(uint32(tag.Phase)<<8^uint32(tag.Round)))
	if r.cut[from].Has(to) && from != to {
		r.status = append(r.status, lost)
		r.lose(from, to)
		return id
	}
	r.status = append(r.status, inFlight)
	r.push(id)
	if len(r.flying) > r.limits.InFlight {
		r.over = fmt.Sprintf("more than %d messages in flight", r.limits.InFlight)
	}
	return id
}

// push appends to the window of messages in flight, moving it back to the start of its
// array before the array would have to grow.
func (r *Run) push(id ID) {
	if len(r.flying) == cap(r.flying) && len(r.flying) < cap(r.flyBase) {
		r.flying = append(r.flyBase[:0], r.flying...)
	}
	r.flying = append(r.flying, id)
	if cap(r.flying) > cap(r.flyBase) {
		r.flyBase = r.flying[:0]
	}
}

// fly makes a message free for the strategy again, in its place by age.
func (r *Run) fly(id ID) {
	r.status[id-1] = inFlight
	if n := len(r.flying); n == 0 || r.flying[n-1] < id {
		r.push(id)
		return
	}
	r.push(0)
	at, _ := slices.BinarySearch(r.flying[:len(r.flying)-1], id)
	copy(r.flying[at+1:], r.flying[at:])
	r.flying[at] = id
}

// releaseAll makes everything that a director holds free for the strategy.
func (r *Run) releaseAll() {
	r.heldAlarms = 0
	r.pending = append(r.pending, r.reserved...)
	r.reserved = r.reserved[:0]
	for i := range r.status {
		if r.status[i] == held {
			r.fly(ID(i + 1))
		}
	}
}

// unfly takes a message out of those in flight. Lock-step strategies and fair delivery
// take the oldest, which costs nothing.
func (r *Run) unfly(id ID) {
	if r.flying[0] == id {
		r.flying = r.flying[1:]
		return
	}
	at, _ := slices.BinarySearch(r.flying, id)
	r.flying = append(r.flying[:at], r.flying[at+1:]...)
}

// takePending removes a waiting request, reserved or not.
func (r *Run) takePending(id int32) (Pending, bool) {
	for _, list := range [...]*[]Pending{&r.pending, &r.reserved} {
		for i, p := range *list {
			if p.ID == id {
				*list = append((*list)[:i], (*list)[i+1:]...)
				return p, true
			}
		}
	}
	return Pending{}, false
}

// mix folds a value into the run's digest.
func (r *Run) mix(v uint64) {
	h := (r.digest ^ v) * 0x9e3779b97f4a7c15
	r.digest = h ^ h>>29
}
