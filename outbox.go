package lockstep

import (
	"fmt"
	"iter"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// Outbox takes the effects of a step, and gives a deployment information on the run. It is valid during Reset and Do
// only.
type Outbox struct{ run *Run }

// Now is the time of the run: see [trace.Time].
func (o *Outbox) Now() trace.Time { return o.run.now }

// Advance reports the time of a system that has a clock of its own. Time never goes back.
func (o *Outbox) Advance(to trace.Time) { o.run.now = max(o.run.now, to) }

// WaitEnded reports that a Wait step ended early, at the given time, because something happened. It has no effect in
// another step.
func (o *Outbox) WaitEnded(at trace.Time) {
	if r := o.run; r.Last().Kind == trace.Wait {
		r.now = min(r.now, max(at, r.now-r.Last().For))
	}
}

// Settling reports whether the run is in its settling stage, in which faults stop. A system should then also stop its
// own faults, such as slow storage.
func (o *Outbox) Settling() bool { return o.run.settling }

// Message is the envelope of a message of this run. It must not be written to.
func (o *Outbox) Message(id trace.ID) *trace.Message { return &o.run.messages[id-1] }

// Cut is the set of nodes to which messages from n are lost, because a Cut step cut the link.
func (o *Outbox) Cut(n Node) Nodes { return o.run.cut[n] }

// InFlight is the number of messages in flight: the free ones, and those that the scenario holds.
func (o *Outbox) InFlight() int { return len(o.run.flying) - o.run.landed + o.run.aside }

// Incoming lists the messages in flight to a node, the youngest first, whether or not the scenario holds them.
func (o *Outbox) Incoming(n Node) iter.Seq[*trace.Message] {
	return func(yield func(*trace.Message) bool) {
		r := o.run
		for i := len(r.messages) - 1; i >= 0; i-- {
			if m := &r.messages[i]; m.To == n && m.Fate.OnItsWay() && !yield(m) {
				return
			}
		}
	}
}

// Send sends a message of the given type and returns the number of its body, under which the system stores the body.
// The tag is zero if messages carry none. A message on a cut link is lost at once.
func (o *Outbox) Send(from, to Node, msgType string, tag trace.Tag) (body trace.ID) {
	return o.SendAt(from, to, msgType, tag, 0)
}

// Broadcast sends a message to every node, the sender included, and returns the number of the body, which all copies
// share.
func (o *Outbox) Broadcast(from Node, msgType string, tag trace.Tag) (body trace.ID) {
	r := o.run
	if int(from) > r.nodes {
		r.misaddressed(from, toAll)
	}
	r.bodies++
	r.sendAll(from, msgType, tag, r.bodies)
	return r.bodies
}

// SendAt is [Outbox.Send] for a message that is due at a time: strategies that follow virtual time deliver it no
// earlier.
func (o *Outbox) SendAt(from, to Node, msgType string, tag trace.Tag, at trace.Time) (body trace.ID) {
	o.run.bodies++
	o.run.send(from, to, msgType, tag, at, o.run.bodies)
	return o.run.bodies
}

// Forged is for a Replace step. It returns the text that [Turn.Forge] or [Control.Forge] got as the body. The system
// parses the text, and stores the message under the returned number.
func (o *Outbox) Forged(s *Step) (text string, body trace.ID) {
	return o.run.forged[s.Request], o.run.bodies
}

// Retype sets the type and tag of a message, for a Replace step that gives the message another body.
func (o *Outbox) Retype(id trace.ID, msgType string, tag trace.Tag) {
	r := o.run
	m := &r.messages[id-1]
	if m.Tag != tag {
		r.sameTag = trace.ID(len(r.messages) + 1)
	}
	m.Type, m.Tag = msgType, tag
	r.mixText(msgType)
}

// Lose reports that a message in flight did not survive the step, though no step dropped it: the connection that
// carried it broke.
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
	if len(r.events) == cap(r.events) { // otherwise the slice stays in place, without a write barrier
		r.growEvents()
	}
	r.events = r.events[:len(r.events)+1]
	to := &r.events[len(r.events)-1] // field by field, see send
	to.Type, to.Node, to.Text, to.Value = e.Type, e.Node, e.Text, e.Value
}

// Watched reports whether a spec, a scenario, an observer or a recording looks at the events of the run. Otherwise
// events are only counted, and a system may leave out their values.
func (o *Outbox) Watched() bool { return o.run.watched }

//go:noinline
func (r *Run) growEvents() { r.events = slices.Grow(r.events, 1) }

// SetTimer arms the one timer of a node. A strategy may fire it at any time; a strategy that follows virtual time
// fires it at the given time. A system with several timers per node arms the earliest.
func (o *Outbox) SetTimer(n Node, at trace.Time) {
	o.run.timers = o.run.timers.With(n)
	o.run.timerAt[n] = at
}

// StopTimer disarms the timer of a node.
func (o *Outbox) StopTimer(n Node) { o.run.timers = o.run.timers.Without(n) }

// Down reports that a node stopped on its own: its process exited. The node is down until a Restart step, as after a
// Crash step. This is no fault of the fault budget.
func (o *Outbox) Down(n Node) {
	r := o.run
	if !r.up.Has(n) {
		return
	}
	r.setUp(r.up.Without(n))
	r.timers = r.timers.Without(n)
	r.mix(uint64(n))
}

// Offer announces a client's request, which from now on waits. A Request step gives it to one of the nodes p.To, and
// may come at any time. The strategy chooses that step, unless the scenario reserves the request ([Control.Reserve]):
// then only the scenario does. A request that is given or withdrawn no longer waits; the system may offer it again.
func (o *Outbox) Offer(p trace.Pending) { o.run.pending = append(o.run.pending, p) }

// Describe reports as text what the current step is about, if the engine did not know it before: the content of a
// request, or which of the node's timers fires.
func (o *Outbox) Describe(text string) {
	switch r := o.run; r.Last().Kind {
	case trace.Request:
		r.given = text
	case trace.Timer:
		r.fired = text
	}
}

// Withdraw takes back a waiting request, i.e. one that was offered and has not been given to a node.
func (o *Outbox) Withdraw(id int32) { o.run.takePending(id) }

// Texts reports whether the deployment should render messages and states as text now, with [Outbox.Text] and
// [Outbox.State]. It should in a recorded run, with [Plan].Texts, and with [Terms].Texts. Otherwise these two methods
// do nothing, and the deployment saves the work.
func (o *Outbox) Texts() bool { return o.run.wantTexts }

// Text gives the content of a message as text, by the number of its body. Traces print it behind link and type: with
// the content "log=a", a message reads "1->2 Prepare log=a".
func (o *Outbox) Text(body trace.ID, text string) {
	if r := o.run; r.wantTexts {
		for len(r.texts) < int(body) {
			r.texts = append(r.texts, "")
		}
		r.texts[body-1] = trace.Cap(text)
	}
}

// State gives the state of a node as a short text. A system calls it when the state may have changed.
func (o *Outbox) State(n Node, text string) {
	if r := o.run; r.wantTexts {
		r.states[n] = trace.Cap(text)
	}
}

// Log adds a line to the recording, for its readers alone: see [trace.Log]. Only a run whose texts are wanted
// ([Outbox.Texts]) has log lines.
func (o *Outbox) Log(l trace.Log) {
	if r := o.run; r.wantTexts {
		l.Source, l.Level, l.Text = trace.Cap(l.Source), trace.Cap(l.Level), trace.Cap(l.Text)
		r.logs = append(r.logs, l)
	}
}

// States gives the states of all nodes that are up, if texts are wanted ([Outbox.Texts]).
func (o *Outbox) States(text func(Node) string) {
	if r := o.run; r.wantTexts {
		for n := range r.up.All() {
			r.states[n] = trace.Cap(text(n))
		}
	}
}

// asText renders the value of an event as text.
func asText(e *Event) {
	if e.Text == "" && e.Value != nil {
		e.Text = fmt.Sprint(e.Value)
	}
	e.Type, e.Text, e.Value = trace.Cap(e.Type), trace.Cap(e.Text), nil
}
