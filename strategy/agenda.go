package strategy

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// event is one thing that can happen at a node: a message arrives, a request is given,
// an alarm fires.
type event struct {
	kind    trace.Kind    // Deliver, Request or Alarm
	node    lockstep.Node // where it happens
	from    lockstep.Node // sender of a message; where the step was taken that offered a request; 0: nowhere
	msg     trace.ID
	request int32
	key     uint64 // priority: the open event with the largest happens next
	chain   int32
	past    int32  // index of the clock of what caused it
	before  int32  // the event before it in its chain, or -1
	usual   uint64 // the priority of its chain before it came
	change  int32  // the number of the change point that delays it, from 1; 0: none
	order   int32  // its place among all that were open, as they came
	passed  int32  // how many that came after it happened before it
	again   int32  // a request that was given before: the alarms that had rung by then, and one more; 0: it was not
	lost    bool   // it will not arrive
	at      int32  // its number among the events of its node; 0: it has not happened
}

// agenda keeps the events of a run from when they come into being until they happen or
// can happen no more.
//
// A message is an event from when it is sent, a request from when it is offered, to a
// node that is drawn then. The alarm of a node is one event from when it is armed until
// it fires or is stopped: setting an armed alarm to another time changes nothing. A message
// that is lost or that a scenario holds is not open; it is when it is released.
type agenda struct {
	events   []event
	open     []int32 // those that may still happen, in no order
	held     []int32 // messages that a scenario may release
	mail     int     // messages that are open
	byMsg    []int32 // by message number - 1
	requests []offered
	given    []int32       // the numbers of the requests that were given
	stepped  lockstep.Node // where the only step since the last look was taken; 0: there were others
	rung     int32         // alarms so far
	alarms   [trace.MaxNodes + 1]int32
	armed    lockstep.Nodes
	chosen   int32 // the event that the strategy chose to happen, counted from 1; 0: none
	steps    int   // taken when it chose
	peak     int   // most events open at once
	opened   int32 // events that were open so far
	late     int32 // how many may overtake an event that can happen; 0: any number
	// decider is told of every event that comes into being, and of every one that happened,
	// before those it caused come into being.
	decider decider
}

// offered is a request with its event.
type offered struct {
	id    int32
	event int32
}

// decider is what a strategy decides about events.
type decider interface {
	// sent is called when a message was sent, before it is known whether it is open, and for
	// an event that happened without having been open.
	sent(turn *lockstep.Turn, index int32)
	// came is called when an event is open to the strategy, and left when it is no longer,
	// though it did not happen.
	came(turn *lockstep.Turn, index int32)
	left(turn *lockstep.Turn, index int32)
	// happened is called when an event has happened; it is no longer open.
	happened(turn *lockstep.Turn, index int32)
	// place draws the node that a request will be given to.
	place(to lockstep.Nodes) lockstep.Node
	// prefer may put another open event in the place of the one with the largest key.
	prefer(turn *lockstep.Turn, index int32) int32
}

// unchained are the decisions of a strategy that goes by keys alone.
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

// look takes over what has changed since the strategy chose: its own step, then those that a
// scenario took, each with what it sent.
func (a *agenda) look(turn *lockstep.Turn) {
	between, before := turn.Between()
	sent := func(i int) int { // up to which message before the i-th of those steps
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
	a.lookAtAlarms(turn)
	a.peak = max(a.peak, len(a.open))
}

// post takes note of the messages up to a number. Those that are lost never open.
func (a *agenda) post(turn *lockstep.Turn, upTo int) {
	for _, m := range turn.Messages()[len(a.byMsg):upTo] {
		index := int32(len(a.events))
		a.byMsg = append(a.byMsg, index)
		a.events = append(a.events, event{kind: trace.Deliver, node: m.To, from: m.From, msg: m.ID})
		a.decider.sent(turn, index)
		switch {
		case turn.IsInFlight(m.ID):
			a.admit(turn, index)
		case turn.IsHeld(m.ID):
			a.held = append(a.held, index)
		}
	}
}

// lookAtMail opens the messages that were released, and takes those out that were lost or
// are held.
func (a *agenda) lookAtMail(turn *lockstep.Turn) {
	held := a.held[:0]
	for _, index := range a.held {
		switch id := a.events[index].msg; {
		case turn.IsInFlight(id):
			a.admit(turn, index)
		case turn.IsHeld(id):
			held = append(held, index)
		}
	}
	a.held = held
	for i := len(a.open) - 1; i >= 0 && a.mail != len(turn.InFlight()); i-- {
		index := a.open[i]
		if e := &a.events[index]; e.kind == trace.Deliver && !turn.IsInFlight(e.msg) {
			if turn.IsHeld(e.msg) {
				a.held = append(a.held, index)
			}
			a.drop(turn, index)
		}
	}
}

func (a *agenda) lookAtAlarms(turn *lockstep.Turn) {
	armed := turn.Alarms()
	for n := range (a.armed &^ armed).All() {
		a.drop(turn, a.alarms[n])
	}
	for n := range (armed &^ a.armed).All() {
		a.alarms[n] = int32(len(a.events))
		a.add(turn, event{kind: trace.Alarm, node: n})
	}
	a.armed = armed
}

// took closes the event that a step made happen. Alarms and requests may be a scenario's from
// the start.
func (a *agenda) took(turn *lockstep.Turn, kind trace.Kind, msg trace.ID, node lockstep.Node, request int32) {
	switch kind {
	case trace.Deliver:
		a.close(turn, a.byMsg[msg-1])
	case trace.Alarm:
		a.rung++
		if a.armed.Has(node) {
			a.armed = a.armed.Without(node)
			a.close(turn, a.alarms[node])
			return
		}
		a.surprise(turn, event{kind: kind, node: node})
	case trace.Request: // where it waits again under its number, it is another event
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

// surprise takes note of an event that happened without having been open.
func (a *agenda) surprise(turn *lockstep.Turn, e event) {
	index := int32(len(a.events))
	a.events = append(a.events, e)
	a.decider.sent(turn, index)
	a.decider.happened(turn, index)
}

// lookAtRequests compares the requests that wait with those known.
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

// close takes an event that happened out of the open ones.
func (a *agenda) close(turn *lockstep.Turn, index int32) {
	a.remove(index)
	if a.late > 0 {
		a.overtake(turn, a.events[index].order)
	}
	a.decider.happened(turn, index)
}

// drop takes an event out that can happen no more, or not for the time being.
func (a *agenda) drop(turn *lockstep.Turn, index int32) {
	if a.remove(index) {
		a.decider.left(turn, index)
	}
}

// remove takes an event out of the open ones, and reports whether it was one.
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

// overtake counts the event with a place in the order for all that it overtook. An alarm is
// overtaken once it is due, or due first: others wait for their time.
func (a *agenda) overtake(turn *lockstep.Turn, order int32) {
	now := max(turn.Now(), a.soonest(turn))
	for _, index := range a.open {
		e := &a.events[index]
		if e.order < order && (e.kind != trace.Alarm || turn.AlarmAt(e.node) <= now) {
			e.passed++
		}
	}
}

// soonest is the time of the alarm that is due first, or 0.
func (a *agenda) soonest(turn *lockstep.Turn) trace.Time {
	at := trace.Time(0)
	for n := range a.armed.All() {
		if t := turn.AlarmAt(n); at == 0 || t < at {
			at = t
		}
	}
	return at
}

// first is the open event to happen next, or -1: of those that were overtaken as often as may
// be, the one that came first, else the one with the largest key. With lost, messages to
// nodes that are down count, which can only be lost.
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

// receivers are the nodes that a request may be given to.
func (a *agenda) receivers(turn *lockstep.Turn, e *event) lockstep.Nodes {
	for _, p := range turn.Pending() {
		if p.ID == e.request {
			return p.To
		}
	}
	return 0
}

// step makes an event happen. A request whose node is down goes to the first that is up.
func (a *agenda) step(turn *lockstep.Turn, index int32, next *lockstep.Step) {
	e := &a.events[index]
	a.chosen = index + 1
	next.Kind = e.kind
	switch e.kind {
	case trace.Deliver:
		next.Msg = e.msg
	case trace.Alarm:
		next.Node = e.node
	default:
		if to := a.receivers(turn, e) & turn.Up(); !to.Has(e.node) {
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
func (h horizon) passed(turn *lockstep.Turn) bool { return h > 0 && turn.Steps() >= int(h) }

// advance makes the open event with the largest key happen, or brings the run to its end.
func (a *agenda) advance(turn *lockstep.Turn, h horizon, next *lockstep.Step) bool {
	a.look(turn)
	if h.passed(turn) {
		return turn.Steps() < drainage*int(h) && a.drain(turn, next)
	}
	best := a.first(turn, false)
	if best < 0 && h > 0 && rounds.Ticks(turn.Info()) { // time moves when nothing else can
		*next = turn.Wait()
		return true
	}
	if best < 0 {
		return false
	}
	a.step(turn, best, next)
	return true
}

// drain delivers the oldest message that can be delivered, or reports false.
func (a *agenda) drain(turn *lockstep.Turn, next *lockstep.Step) bool {
	for _, id := range turn.InFlight() {
		if turn.Deliverable(id) {
			a.step(turn, a.byMsg[id-1], next)
			return true
		}
	}
	return false
}
