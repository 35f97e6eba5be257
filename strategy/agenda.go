package strategy

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// event is one thing that can happen at a node: a message arrives, a request is given,
// an alarm fires.
type event struct {
	kind    lockstep.Kind // Deliver, Request or Alarm
	node    lockstep.Node // where it happens
	from    lockstep.Node // sender of a message
	msg     lockstep.ID
	request int32
	key     uint64 // priority: the open event with the largest happens next
	chain   int32
	past    int32 // index of the clock of what caused it
	lost    bool  // it will not arrive
	at      int32 // its number among the events of its node; 0: it has not happened
}

// agenda keeps the events of a run from when they come into being until they happen or
// can happen no more.
//
// A message is an event from when it is sent, a request from when it is offered, to a
// node that is drawn then. The alarm of a node is one event from when it is armed until
// it fires or is stopped: setting an armed alarm to another time changes nothing.
type agenda struct {
	events   []event
	open     []int32 // those that may still happen, in no order
	byMsg    []int32 // by message number - 1
	requests []offered
	alarms   [trace.MaxNodes + 1]int32
	armed    lockstep.Nodes
	chosen   int32 // the event that the strategy chose to happen, counted from 1; 0: none
	steps    int   // taken when it chose
	peak     int   // most events open at once
	// decider is told of every event that comes into being, and of every one that happened
	// as the strategy chose, before those it caused come into being.
	decider decider
}

// offered is a request with its event.
type offered struct {
	id    int32
	event int32
}

// decider is what a strategy decides about events.
type decider interface {
	// came is called when an event comes into being.
	came(run *lockstep.Run, index int32)
	// happened is called when an event has happened; it is no longer open.
	happened(run *lockstep.Run, index int32)
	// place draws the node that a request will be given to.
	place(to lockstep.Nodes) lockstep.Node
}

func (a *agenda) reset() {
	a.events, a.open, a.byMsg, a.requests, a.armed = a.events[:0], a.open[:0], a.byMsg[:0], a.requests[:0], 0
	a.chosen, a.steps = 0, 0
	a.peak = 0
}

// look takes over what has changed since the strategy chose. A scenario may have taken
// steps of its own in between: those before the last are seen only by what they sent.
func (a *agenda) look(run *lockstep.Run) {
	if steps := run.Steps(); steps > a.steps {
		if a.chosen > 0 {
			e := &a.events[a.chosen-1]
			a.took(run, e.kind, e.msg, e.node, e.request)
		}
		if last := run.Last(); a.chosen == 0 || steps > a.steps+1 {
			a.took(run, last.Kind, last.Msg, last.Node, last.Request)
		}
	}
	a.chosen, a.steps = 0, run.Steps()
	for _, m := range run.Messages()[len(a.byMsg):] {
		a.byMsg = append(a.byMsg, int32(len(a.events)))
		a.add(run, event{kind: trace.Deliver, node: m.To, from: m.From, msg: m.ID})
	}
	a.lookAtRequests(run)
	armed := run.Alarms()
	for n := range (a.armed &^ armed).All() {
		a.remove(a.alarms[n])
	}
	for n := range (armed &^ a.armed).All() {
		a.alarms[n] = int32(len(a.events))
		a.add(run, event{kind: trace.Alarm, node: n})
	}
	a.armed = armed
	a.peak = max(a.peak, len(a.open))
}

// took closes the event that a step made happen, where there is one.
func (a *agenda) took(run *lockstep.Run, kind lockstep.Kind, msg lockstep.ID, node lockstep.Node, request int32) {
	switch kind {
	case trace.Deliver:
		if int(msg) <= len(a.byMsg) {
			a.close(run, a.byMsg[msg-1])
		}
	case trace.Alarm:
		if a.armed.Has(node) {
			a.armed = a.armed.Without(node)
			a.close(run, a.alarms[node])
		}
	case trace.Request: // where it waits again under its number, it is another event
		for i, o := range a.requests {
			if o.id == request {
				a.requests = slices.Delete(a.requests, i, i+1)
				a.close(run, o.event)
				break
			}
		}
	}
}

// lookAtRequests compares the requests that wait with those known.
func (a *agenda) lookAtRequests(run *lockstep.Run) {
	pending := run.Pending()
	same := len(pending) == len(a.requests)
	for i := 0; same && i < len(pending); i++ {
		same = pending[i].ID == a.requests[i].id
	}
	if same {
		return
	}
	known := a.requests
	a.requests = nil
	for _, p := range pending {
		o := offered{id: p.ID, event: -1}
		for i := range known {
			if known[i].id == p.ID {
				o.event, known[i].id = known[i].event, 0
			}
		}
		if o.event < 0 {
			o.event = int32(len(a.events))
			a.add(run, event{kind: trace.Request, node: a.decider.place(p.To), request: p.ID})
		}
		a.requests = append(a.requests, o)
	}
	for _, o := range known {
		if o.id != 0 {
			a.remove(o.event)
		}
	}
}

func (a *agenda) add(run *lockstep.Run, e event) {
	index := int32(len(a.events))
	a.events = append(a.events, e)
	a.open = append(a.open, index)
	a.decider.came(run, index)
}

// close takes an event that happened out of the open ones.
func (a *agenda) close(run *lockstep.Run, index int32) {
	a.remove(index)
	a.decider.happened(run, index)
}

func (a *agenda) remove(index int32) {
	for i, at := range a.open {
		if at == index {
			a.open[i] = a.open[len(a.open)-1]
			a.open = a.open[:len(a.open)-1]
			return
		}
	}
}

// first is the open event with the largest key that can happen now, or -1. With lost,
// messages to nodes that are down count, which can only be lost. Messages that are gone
// leave the agenda on the way.
func (a *agenda) first(run *lockstep.Run, lost bool) int32 {
	best, key := int32(-1), uint64(0)
	for i := 0; i < len(a.open); i++ {
		index := a.open[i]
		e := &a.events[index]
		if best >= 0 && e.key <= key {
			continue
		}
		switch e.kind {
		case trace.Deliver:
			if !run.IsInFlight(e.msg) {
				if !run.IsHeld(e.msg) {
					a.open[i] = a.open[len(a.open)-1]
					a.open = a.open[:len(a.open)-1]
					i--
				}
				continue
			}
			if !run.Deliverable(e.msg) && !(lost && !run.Up().Has(e.node)) {
				continue
			}
		case trace.Request:
			if a.receivers(run, e)&run.Up() == 0 {
				continue
			}
		}
		best, key = index, e.key
	}
	return best
}

// receivers are the nodes that a request may be given to.
func (a *agenda) receivers(run *lockstep.Run, e *event) lockstep.Nodes {
	for _, p := range run.Pending() {
		if p.ID == e.request {
			return p.To
		}
	}
	return 0
}

// step makes an event happen. A request whose node is down goes to the first that is up.
func (a *agenda) step(run *lockstep.Run, index int32, next *lockstep.Step) {
	e := &a.events[index]
	a.chosen = index + 1
	next.Kind = e.kind
	switch e.kind {
	case trace.Deliver:
		next.Msg = e.msg
	case trace.Alarm:
		next.Node = e.node
	default:
		if to := a.receivers(run, e) & run.Up(); !to.Has(e.node) {
			e.node = to.First()
		}
		next.Request, next.Node = e.request, e.node
	}
}

// horizon ends a run of a strategy whose system may go on for ever: after so many steps
// no alarm fires and no request is given any more, and what is in flight is delivered in
// the order of sending until nothing is left. Only a system whose messages breed messages
// for ever has some left when the run ends, after drainage times as many steps.
type horizon int

const drainage = 10

// passed reports whether the run is to be brought to its end.
func (h horizon) passed(run *lockstep.Run) bool { return h > 0 && run.Steps() >= int(h) }

// advance makes the open event with the largest key happen, or brings the run to its end.
func (a *agenda) advance(run *lockstep.Run, h horizon, next *lockstep.Step) bool {
	a.look(run)
	if h.passed(run) {
		return h.drain(run, next)
	}
	best := a.first(run, false)
	if best < 0 && h > 0 && clockOnly(run.Info()) { // time moves when nothing else can
		*next = run.Wait()
		return true
	}
	if best < 0 {
		return false
	}
	a.step(run, best, next)
	return true
}

// drain delivers the oldest message that can be delivered, or reports false.
func (h horizon) drain(run *lockstep.Run, next *lockstep.Step) bool {
	if run.Steps() >= drainage*int(h) {
		return false
	}
	for _, id := range run.InFlight() {
		if run.Deliverable(id) {
			next.Kind, next.Msg = trace.Deliver, id
			return true
		}
	}
	return false
}
