package strategy

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// event is one thing that can happen at a node: a message is delivered, a request is given, or a timer fires.
type event struct {
	kind    trace.Kind    // Deliver, Request or Timer
	node    lockstep.Node // the node at which the event happens
	from    lockstep.Node // the sender of a message; for a request, the node of the step that offered it; 0: none
	msg     trace.ID
	request int32
	key     uint64 // priority: the open event with the largest key happens next
	chain   int32
	past    int32  // index of the clock of the event that caused this one
	before  int32  // the previous event in its chain, or -1
	usual   uint64 // the priority of its chain before this event
	change  int32  // the number of the change point that delays it, from 1; 0: none
	order   int32  // its position among all opened events, in order of opening
	passed  int32  // how many events that opened later happened before it
	// a request that was given before: the number of timers fired by then, plus one; 0: a first attempt
	again int32
	lost  bool  // the message will not be delivered
	at    int32 // its number among the events of its node; 0: it has not happened
}

// agenda tracks the events of a run from their creation until they happen or become impossible.
//
// A message is an event from the moment it is sent. A request is an event from the moment it is offered; its node is
// drawn then. The timer of a node is one event from the moment it is armed until it fires or is stopped. Rearming an
// armed timer does not create a new event. A message that is lost, or that a scenario holds, is not open. A held
// message opens when the scenario releases it.
type agenda struct {
	events   []event
	open     []int32 // events that may still happen, unordered
	held     []int32 // messages that a scenario may release
	mail     int     // number of open messages
	byMsg    []int32 // event index by message number - 1
	requests []offered
	given    []int32       // numbers of the requests that were given
	stepped  lockstep.Node // the node of the only step since the last look; 0: there were several steps
	rung     int32         // timers fired so far
	timers   [trace.MaxNodes + 1]int32
	armed    lockstep.Nodes
	chosen   int32 // the event that the strategy chose, counted from 1; 0: none
	steps    int   // steps of the run when the strategy chose
	peak     int   // maximum number of events open at once
	opened   int32 // number of events opened so far
	late     int32 // how many later events may overtake a possible event; 0: any number
	// decider is notified of every new event. It is notified of every event that happened before it is notified of the
	// events that this one caused.
	decider decider
}

// offered is a request with its event.
type offered struct {
	id    int32
	event int32
}

// decider makes the decisions of a strategy about events.
type decider interface {
	// sent is called for every message sent, before the agenda knows whether it is open. It is also called for an event
	// that happened without having been open.
	sent(turn *lockstep.Turn, index int32)
	// came is called when an event opens to the strategy. left is called when an event closes without having happened.
	came(turn *lockstep.Turn, index int32)
	left(turn *lockstep.Turn, index int32)
	// happened is called when an event has happened and is closed.
	happened(turn *lockstep.Turn, index int32)
	// place draws the node that will receive a request.
	place(to lockstep.Nodes) lockstep.Node
	// prefer may replace the event with the largest key by another open event.
	prefer(turn *lockstep.Turn, index int32) int32
}

// unchained implements the decisions of a strategy that uses keys alone.
type unchained struct{}

func (unchained) sent(*lockstep.Turn, int32)                 {}
func (unchained) left(*lockstep.Turn, int32)                 {}
func (unchained) prefer(_ *lockstep.Turn, index int32) int32 { return index }

func (a *agenda) reset() {
	a.events, a.open, a.byMsg, a.requests, a.armed = a.events[:0], a.open[:0], a.byMsg[:0], a.requests[:0], 0
	a.held, a.mail, a.opened, a.given, a.rung = a.held[:0], 0, 0, a.given[:0], 0
	a.chosen, a.steps = 0, 0
	a.peak = 0
}

// observe applies the changes since the strategy chose: its own step, then the steps of a scenario, each with the
// messages it sent.
func (a *agenda) observe(turn *lockstep.Turn) {
	between, before := turn.Between()
	sent := func(i int) int { // the number of messages sent before the i-th of those steps
		if i < len(between) {
			return before[i]
		}
		return len(turn.Messages())
	}
	a.stepped = 0
	if a.chosen > 0 && turn.Steps() > a.steps {
		e := &a.events[a.chosen-1]
		a.took(turn, e.kind, e.msg, e.node, e.request)
		if len(between) == 0 {
			a.stepped = e.node
		}
	}
	a.post(turn, sent(0))
	for i := range between {
		s := &between[i]
		a.took(turn, s.Kind, s.Msg, s.Node, s.Request)
		a.post(turn, sent(i+1))
	}
	a.chosen, a.steps = 0, turn.Steps()
	a.lookAtMail(turn)
	a.lookAtRequests(turn)
	a.observeTimers(turn)
	a.peak = max(a.peak, len(a.open))
}

// post records the messages up to a number. Lost messages never open.
func (a *agenda) post(turn *lockstep.Turn, upTo int) {
	for _, m := range turn.Messages()[len(a.byMsg):upTo] {
		index := int32(len(a.events))
		a.byMsg = append(a.byMsg, index)
		a.events = append(a.events, event{kind: trace.Deliver, node: m.To, from: m.From, msg: m.ID})
		a.decider.sent(turn, index)
		switch {
		case turn.IsFree(m.ID):
			a.admit(turn, index)
		case turn.IsHeld(m.ID):
			a.held = append(a.held, index)
		}
	}
}

// lookAtMail opens the messages that were released, and closes those that were lost or are held.
func (a *agenda) lookAtMail(turn *lockstep.Turn) {
	held := a.held[:0]
	for _, index := range a.held {
		switch id := a.events[index].msg; {
		case turn.IsFree(id):
			a.admit(turn, index)
		case turn.IsHeld(id):
			held = append(held, index)
		}
	}
	a.held = held
	for i := len(a.open) - 1; i >= 0 && a.mail != len(turn.FreeMessages()); i-- {
		index := a.open[i]
		if e := &a.events[index]; e.kind == trace.Deliver && !turn.IsFree(e.msg) {
			if turn.IsHeld(e.msg) {
				a.held = append(a.held, index)
			}
			a.drop(turn, index)
		}
	}
}

func (a *agenda) observeTimers(turn *lockstep.Turn) {
	armed := turn.Timers()
	for n := range (a.armed &^ armed).All() {
		a.drop(turn, a.timers[n])
	}
	for n := range (armed &^ a.armed).All() {
		a.timers[n] = int32(len(a.events))
		a.add(turn, event{kind: trace.Timer, node: n})
	}
	a.armed = armed
}

// took closes the event that a step executed. Timers and requests may come from a scenario, and then were never open.
func (a *agenda) took(turn *lockstep.Turn, kind trace.Kind, msg trace.ID, node lockstep.Node, request int32) {
	switch kind {
	case trace.Deliver:
		a.close(turn, a.byMsg[msg-1])
	case trace.Timer:
		a.rung++
		if a.armed.Has(node) {
			a.armed = a.armed.Without(node)
			a.close(turn, a.timers[node])
			return
		}
		a.surprise(turn, event{kind: kind, node: node})
	case trace.Request: // a request that waits again under the same number is a new event
		if !slices.Contains(a.given, request) {
			a.given = append(a.given, request)
		}
		for i, o := range a.requests {
			if o.id == request {
				a.requests = slices.Delete(a.requests, i, i+1)
				a.close(turn, o.event)
				return
			}
		}
		a.surprise(turn, event{kind: kind, node: node, request: request})
	}
}

// surprise records an event that happened without having been open.
func (a *agenda) surprise(turn *lockstep.Turn, e event) {
	index := int32(len(a.events))
	a.events = append(a.events, e)
	a.decider.sent(turn, index)
	a.decider.happened(turn, index)
}

// lookAtRequests compares the waiting requests with the known ones.
func (a *agenda) lookAtRequests(turn *lockstep.Turn) {
	pending := turn.Pending()
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
			e := event{kind: trace.Request, node: a.decider.place(p.To), from: a.stepped, request: p.ID}
			if slices.Contains(a.given, p.ID) {
				e.again = a.rung + 1
			}
			a.add(turn, e)
		}
		a.requests = append(a.requests, o)
	}
	for _, o := range known {
		if o.id != 0 {
			a.drop(turn, o.event)
		}
	}
}

func (a *agenda) add(turn *lockstep.Turn, e event) {
	a.events = append(a.events, e)
	a.admit(turn, int32(len(a.events)-1))
}

// admit opens an event.
func (a *agenda) admit(turn *lockstep.Turn, index int32) {
	e := &a.events[index]
	a.opened++
	e.order, e.passed = a.opened, 0
	a.open = append(a.open, index)
	if e.kind == trace.Deliver {
		a.mail++
	}
	a.decider.came(turn, index)
}

// close removes an event that happened from the open events.
func (a *agenda) close(turn *lockstep.Turn, index int32) {
	a.remove(index)
	if a.late > 0 {
		a.overtake(turn, a.events[index].order)
	}
	a.decider.happened(turn, index)
}

// drop removes an event that can no longer happen, or that is held for now.
func (a *agenda) drop(turn *lockstep.Turn, index int32) {
	if a.remove(index) {
		a.decider.left(turn, index)
	}
}

// remove deletes an event from the open events, and reports whether it was open.
func (a *agenda) remove(index int32) bool {
	for i, at := range a.open {
		if at == index {
			a.open[i] = a.open[len(a.open)-1]
			a.open = a.open[:len(a.open)-1]
			if a.events[index].kind == trace.Deliver {
				a.mail--
			}
			return true
		}
	}
	return false
}

// overtake increments the count of every event that the event at this position overtook. A timer counts as overtaken
// only if it is due, or due first; other timers are not due yet.
func (a *agenda) overtake(turn *lockstep.Turn, order int32) {
	now := max(turn.Now(), a.soonest(turn))
	for _, index := range a.open {
		e := &a.events[index]
		if e.order < order && (e.kind != trace.Timer || turn.TimerAt(e.node) <= now) {
			e.passed++
		}
	}
}

// soonest returns the time of the timer that is due first, or 0.
func (a *agenda) soonest(turn *lockstep.Turn) trace.Time {
	at := trace.Time(0)
	for n := range a.armed.All() {
		if t := turn.TimerAt(n); at == 0 || t < at {
			at = t
		}
	}
	return at
}

// first returns the open event to execute next, or -1. An event that reached the overtaking limit comes first, the
// oldest of them before the others. Otherwise the event with the largest key comes next. With lost set, messages to
// nodes that are down count as well; they can only be lost.
func (a *agenda) first(turn *lockstep.Turn, lost bool) int32 {
	best, key := int32(-1), uint64(0)
	overdue := int32(-1)
	for _, index := range a.open {
		e := &a.events[index]
		late := a.late > 0 && e.passed >= a.late
		if !late && best >= 0 && e.key <= key || !a.possible(turn, e, lost) {
			continue
		}
		if late && (overdue < 0 || e.order < a.events[overdue].order) {
			overdue = index
		}
		if best < 0 || e.key > key {
			best, key = index, e.key
		}
	}
	switch {
	case overdue >= 0:
		return overdue
	case best >= 0:
		return a.decider.prefer(turn, best)
	default:
		return -1
	}
}

// possible reports whether an open event can happen now.
func (a *agenda) possible(turn *lockstep.Turn, e *event, lost bool) bool {
	switch e.kind {
	case trace.Deliver:
		return turn.Deliverable(e.msg) || lost && !turn.Up().Has(e.node)
	case trace.Request:
		return a.receivers(turn, e)&turn.Up() != 0
	default:
		return true
	}
}

// receivers returns the nodes that may receive a request.
func (a *agenda) receivers(turn *lockstep.Turn, e *event) lockstep.Nodes {
	for _, p := range turn.Pending() {
		if p.ID == e.request {
			return p.To
		}
	}
	return 0
}

// step executes an event. If the node of a request is down, the first eligible node that is up receives it.
func (a *agenda) step(turn *lockstep.Turn, index int32, next *lockstep.Step) {
	e := &a.events[index]
	a.chosen = index + 1
	next.Kind = e.kind
	switch e.kind {
	case trace.Deliver:
		next.Msg = e.msg
	case trace.Timer:
		next.Node = e.node
	default:
		if to := a.receivers(turn, e) & turn.Up(); !to.Has(e.node) {
			e.node = to.First()
		}
		next.Request, next.Node = e.request, e.node
	}
}

// horizon bounds a run of a system that may never become quiescent. After that many steps, no timer fires and no
// request is given. The strategy then delivers the messages in flight in sending order until none is left. Messages
// remain only if messages keep causing messages; then the run ends after drainage times as many steps.
type horizon int

const drainage = 10

// passed reports whether the run has reached its horizon.
func (h horizon) passed(turn *lockstep.Turn) bool { return h > 0 && turn.Steps() >= int(h) }

// advance executes the open event with the largest key, or drains the run after its horizon.
func (a *agenda) advance(turn *lockstep.Turn, h horizon, next *lockstep.Step) bool {
	a.observe(turn)
	if h.passed(turn) {
		return turn.Steps() < drainage*int(h) && a.drain(turn, next)
	}
	best := a.first(turn, false)
	if best < 0 && h > 0 && rounds.Ticks(turn.Info()) { // time passes only when no event is possible
		*next = turn.Wait()
		return true
	}
	if best < 0 {
		return false
	}
	a.step(turn, best, next)
	return true
}

// drain delivers the oldest deliverable message, or reports false.
func (a *agenda) drain(turn *lockstep.Turn, next *lockstep.Step) bool {
	for _, id := range turn.FreeMessages() {
		if turn.Deliverable(id) {
			a.step(turn, a.byMsg[id-1], next)
			return true
		}
	}
	return false
}
