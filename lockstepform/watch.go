package lockstepform

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// moment is one observed step of a run.
type moment struct {
	number  int
	step    lockstep.Step
	node    lockstep.Node // the node that acts; 0 if only the network changes
	msg     trace.Message // the delivered message
	content string        // original content of the delivered message
	forged  string        // the body that replaced its original one
	sent    []trace.Message
	events  string
	changed bool // whether the node's state changed
	armed   bool // whether the node's timer was set or stopped
	late    bool // whether the message is of an earlier round than its receiver's
	at      trace.Tag
	was, is string // the node's state as text
	print   uint64 // the node's fingerprint afterwards
}

// deliver reports whether the moment is a delivery.
func (m *moment) deliver() bool { return m.step.Kind == trace.Deliver }

// call reports whether the moment is a timer or a delivery that only sent messages. It matters that these are sent, not
// how often.
func (m *moment) call() bool {
	return (m.deliver() || m.step.Kind == trace.Timer) && !m.changed && !m.armed && m.events == ""
}

// movedByTime reports whether time passed and nodes acted.
func (m *moment) movedByTime() bool {
	return m.step.Kind == trace.Wait && (len(m.sent) > 0 || m.events != "")
}

// watch is an observer that records every step of one run, on one worker.
type watch struct {
	position position
	state    states
	armed    lockstep.Nodes
	contents []string // original contents of the messages
	moments  []*moment
}

// New returns the watcher, which is the observer itself.
func (w *watch) New(info lockstep.Info) lockstep.Watcher {
	w.position = newPosition(info)
	w.state = states{words: true, prints: make([]uint64, info.Nodes+1), texts: make([]string, info.Nodes+1)}
	return w
}

// Reset begins a new run.
func (w *watch) Reset() {
	w.position.reset()
	w.contents, w.moments = nil, nil
}

// Noted returns nil: the observer already has the steps.
func (w *watch) Noted() any { return nil }

// Collect does nothing.
func (w *watch) Collect(int, any) {}

// Observe records the last step.
func (w *watch) Observe(run *lockstep.Run) {
	for _, m := range run.Sent() {
		w.contents = append(w.contents, run.Text(m.ID))
	}
	if run.Last().Kind == trace.Start {
		w.state.begin(run)
		w.armed = run.Timers()
		w.position.step(run, 0, false)
		w.moments = append(w.moments, &moment{step: *run.Last(), sent: append([]trace.Message(nil), run.Sent()...)})
		return
	}
	m := &moment{
		number: run.Steps(),
		step:   *run.Last(),
		node:   actor(run),
		sent:   append([]trace.Message(nil), run.Sent()...),
	}
	if m.deliver() {
		m.msg = *run.Message(m.step.Msg)
		m.content = w.contents[m.msg.ID-1]
	}
	m.events = eventsText(run.Events())
	if m.node != 0 {
		m.was = w.state.texts[m.node]
		m.changed = w.state.update(run, m.node)
		m.is, m.print = w.state.texts[m.node], w.state.prints[m.node]
		m.armed = (w.armed ^ run.Timers()).Has(m.node) && m.step.Kind != trace.Timer
	}
	w.armed = run.Timers()
	m.late, m.at = w.position.step(run, m.node, m.changed)
	w.moments = append(w.moments, m)
}

func eventsText(events []lockstep.Event) string {
	var b strings.Builder
	for _, e := range events {
		text := e.Text
		if text == "" && e.Value != nil {
			text = fmt.Sprint(e.Value)
		}
		fmt.Fprintf(&b, "%d %s %s\n", e.Node, e.Type, text)
	}
	return b.String()
}

// actor returns the node of the last step, or 0 if the step changes only the network.
func actor(run *lockstep.Run) lockstep.Node {
	switch s := run.Last(); s.Kind {
	case trace.Deliver:
		return run.Message(s.Msg).To
	case trace.Timer, trace.Crash, trace.Restart, trace.Request, trace.Pause, trace.Jump:
		return s.Node
	default:
		return 0
	}
}

// states holds the state of every node. It uses the fingerprint if the system offers one, and the text if texts are
// requested or there are no fingerprints.
type states struct {
	words  bool
	prints []uint64
	texts  []string
}

func (s *states) begin(run *lockstep.Run) {
	for n := lockstep.Node(1); int(n) <= run.Info().Nodes; n++ {
		s.update(run, n)
	}
}

// update reads the state of a node and reports whether it changed.
func (s *states) update(run *lockstep.Run, n lockstep.Node) bool {
	text, print := "down", uint64(0)
	if run.Up().Has(n) {
		var exact bool
		if print, exact = run.Fingerprint(n); s.words || !exact {
			text = run.State(n)
		} else {
			text = "up"
		}
	}
	changed := text != s.texts[n] || print != s.prints[n]
	s.texts[n], s.prints[n] = text, print
	return changed
}
