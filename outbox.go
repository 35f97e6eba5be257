package lockstep

import (
	"fmt"
	"iter"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// Outbox takes what a step caused, and tells a deployment what it may need to know of the
// run. It is valid during Reset and Do only.
type Outbox struct{ run *Run }

// Now is the run's time.
func (o *Outbox) Now() trace.Time { return o.run.now }

// Advance tells the time of a system that has a clock of its own. Time never goes back.
func (o *Outbox) Advance(to trace.Time) { o.run.now = max(o.run.now, to) }

// Stop tells that a Wait step ended before its time, because something happened.
func (o *Outbox) Stop(at trace.Time) {
	if r := o.run; r.Last().Kind == trace.Wait {
		r.now = min(r.now, max(at, r.now-r.Last().For))
	}
}

// Settling reports whether the run is in its settling stage, in which faults stop. Those
// that a system has of its own, such as slow storage, are to stop then, too.
func (o *Outbox) Settling() bool { return o.run.settling }

// Message is the envelope of a message of this run. It must not be written to.
func (o *Outbox) Message(id trace.ID) *trace.Message { return &o.run.messages[id-1] }

// Cut is the set of nodes that messages from n do not reach.
func (o *Outbox) Cut(n Node) Nodes { return o.run.cut[n] }

// InFlight is the number of messages on their way, those in the hands of a scenario included.
func (o *Outbox) InFlight() int { return len(o.run.flying) - o.run.landed + o.run.aside }

// Coming are the messages on their way to a node, the youngest first.
func (o *Outbox) Coming(n Node) iter.Seq[*trace.Message] {
	return func(yield func(*trace.Message) bool) {
		r := o.run
		for i := len(r.messages) - 1; i >= 0; i-- {
			if m := &r.messages[i]; m.To == n && m.Fate.OnItsWay() && !yield(m) {
				return
			}
		}
	}
}

// Send puts a message on its way and returns the number of its body, under which the
// system keeps it. The tag is zero where messages carry none. A message on a cut link is
// lost at once.
func (o *Outbox) Send(from, to Node, kind string, tag trace.Tag) (body trace.ID) {
	return o.SendAt(from, to, kind, tag, 0)
}

// Broadcast is Send to every node, the sender included. The messages share one body.
func (o *Outbox) Broadcast(from Node, kind string, tag trace.Tag) (body trace.ID) {
	r := o.run
	if int(from) > r.nodes {
		r.misaddressed(from, toAll)
	}
	r.bodies++
	r.sendAll(from, kind, tag, r.bodies)
	return r.bodies
}

// SendAt is Send for a message that is due at a time.
func (o *Outbox) SendAt(from, to Node, kind string, tag trace.Tag, at trace.Time) (body trace.ID) {
	o.run.bodies++
	o.run.send(from, to, kind, tag, at, o.run.bodies)
	return o.run.bodies
}

// Forged is the body that a Replace step brings, in the words of the step's maker, and the
// number under which the system keeps what it reads from them.
func (o *Outbox) Forged(s *Step) (text string, body trace.ID) {
	return o.run.forged[s.Request], o.run.bodies
}

// Retype sets the type and tag of a message that got another body.
func (o *Outbox) Retype(id trace.ID, kind string, tag trace.Tag) {
	r := o.run
	m := &r.messages[id-1]
	if m.Tag != tag {
		r.sameTag = trace.ID(len(r.messages) + 1)
	}
	m.Type, m.Tag = kind, tag
	r.mixText(kind)
}

// Lose tells that a message in flight did not survive the step, though nobody dropped it:
// the connection that carried it broke.
func (o *Outbox) Lose(id trace.ID) {
	if r := o.run; r.messages[id-1].Fate.OnItsWay() {
		r.takeOut(id, r.fate(&r.messages[id-1], trace.Drop))
		r.vanished = append(r.vanished, id)
		r.mix(uint64(id))
	}
}

// Event reports something observable that happened at a node.
func (o *Outbox) Event(e Event) {
	r := o.run
	r.mix(uint64(e.Node))
	r.mix(r.happened.count(e.Type))
	if !r.watched {
		return
	}
	if len(r.events) == cap(r.events) { // else the slice stays where it is, which the garbage collector need not hear
		r.growEvents()
	}
	r.events = r.events[:len(r.events)+1]
	to := &r.events[len(r.events)-1] // field by field, see post
	to.Type, to.Node, to.Text, to.Value = e.Type, e.Node, e.Text, e.Value
}

// Watched reports whether anybody looks at the events of the run: a spec, a scenario, an observer, a
// recording. Otherwise they are counted and no more, and a system may leave out their values.
func (o *Outbox) Watched() bool { return o.run.watched }

//go:noinline
func (r *Run) growEvents() { r.events = slices.Grow(r.events, 1) }

// SetAlarm arms the one alarm of a node. A strategy may fire it at any time; one that
// follows virtual time fires it at the time given. A system with several timers in a
// node arms the earliest.
func (o *Outbox) SetAlarm(n Node, at trace.Time) {
	o.run.alarms = o.run.alarms.With(n)
	o.run.alarmAt[n] = at
}

// StopAlarm disarms the alarm of a node.
func (o *Outbox) StopAlarm(n Node) { o.run.alarms = o.run.alarms.Without(n) }

// Down reports that a node stopped on its own: its process exited. It is down until a Restart step, as after a Crash
// step, and costs nothing of the fault budget.
func (o *Outbox) Down(n Node) {
	r := o.run
	if !r.up.Has(n) {
		return
	}
	r.setUp(r.up.Without(n))
	r.alarms = r.alarms.Without(n)
	r.mix(uint64(n))
}

// Offer announces a client's request that may be given to one of the nodes p.To.
func (o *Outbox) Offer(p trace.Pending) { o.run.pending = append(o.run.pending, p) }

// Tell tells in words what the step under way is about, where that was not known before: what
// a request asks for, or which of a node's timers its alarm is.
func (o *Outbox) Tell(text string) {
	switch r := o.run; r.Last().Kind {
	case trace.Request:
		r.given = text
	case trace.Alarm:
		r.rang = text
	}
}

// Withdraw takes back an offered request that was not given yet.
func (o *Outbox) Withdraw(id int32) { o.run.takePending(id) }

// Texts reports whether messages and states are to be put into words now, with Text and
// State: while a run is recorded, or watched by somebody who reads. Otherwise both do
// nothing, and the deployment saves the work.
func (o *Outbox) Texts() bool { return o.run.wantTexts }

// Text is the content of a message after "1->2 Type", e.g. "phase=1 log=a", by the number of
// its body.
func (o *Outbox) Text(body trace.ID, text string) {
	if r := o.run; r.wantTexts {
		for len(r.texts) < int(body) {
			r.texts = append(r.texts, "")
		}
		r.texts[body-1] = trace.Cap(text)
	}
}

// State is the state of a node in a few words, told when it may have changed.
func (o *Outbox) State(n Node, text string) {
	if r := o.run; r.wantTexts {
		r.states[n] = trace.Cap(text)
	}
}

// States tells the states of all nodes that are up, where texts are wanted.
func (o *Outbox) States(text func(Node) string) {
	if r := o.run; r.wantTexts {
		for n := range r.up.All() {
			r.states[n] = trace.Cap(text(n))
		}
	}
}

// inWords puts the value of an event into words.
func inWords(e *Event) {
	if e.Text == "" && e.Value != nil {
		e.Text = fmt.Sprint(e.Value)
	}
	e.Type, e.Text, e.Value = trace.Cap(e.Type), trace.Cap(e.Text), nil
}
