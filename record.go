package lockstep

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// recorder is the watcher that records a run step by step. Every run of a best-effort system is recorded, and most
// recordings are discarded. So the recorder collects notes in reused lists, and renders them as text on demand.
type recorder struct {
	header  trace.Header
	notes   []note
	sent    []trace.Message // as they were sent, in order
	gone    []trace.ID
	draws   []trace.Draw
	events  []Event // as text, if their values do not last
	changed []trace.State
	logs    []trace.Log
	states  []string // last seen text of each node's state
	forged  int32    // bodies, in steps that were taken

	records []trace.Record // of the notes rendered as text
	texts   []string       // of the messages sent in them
}

// note is the data on a step. Each of the fields sent, gone, draws, events, changed and logs is the end of the step's
// part of the recorder's list with that name.
type note struct {
	number, round int
	step          Step
	settle        bool
	now           trace.Time // if time passes in Wait steps
	text, body    string     // known only at the time of the step: see lastStep
	sent, gone    int
	draws, events int
	changed, logs int
}

// begin makes the recorder ready for a run.
func (c *recorder) begin(h trace.Header) {
	c.header = h
	c.notes, c.sent, c.gone, c.draws, c.changed = c.notes[:0], c.sent[:0], c.gone[:0], c.draws[:0], c.changed[:0]
	c.logs = c.logs[:0]
	clear(c.events)
	c.events = c.events[:0]
	c.states = slices.Grow(c.states[:0], h.Nodes+1)[:h.Nodes+1]
	clear(c.states)
	c.records, c.texts, c.forged = nil, c.texts[:0], 0
}

// Observe notes the step just taken and its effects.
func (c *recorder) Observe(r *Run) {
	c.gone = append(c.gone, r.vanished...)
	for i := range r.events {
		c.events = append(c.events, r.events[i])
		if !r.can.Lasting {
			asText(&c.events[len(c.events)-1])
		}
	}
	for n := Node(1); int(n) <= r.info.Nodes; n++ {
		if text := r.State(n); text != c.states[n] {
			c.states[n] = text
			c.changed = append(c.changed, trace.State{Node: n, Text: text})
		}
	}
	c.broken(r)
}

// broken notes a step in which the system panicked: of its effects, only the messages sent and the draws are known.
func (c *recorder) broken(r *Run) {
	c.sent = append(c.sent, r.Sent()...)
	c.draws = append(c.draws, r.draws.record()...)
	c.logs = append(c.logs, r.logs...)
	n := c.lastStep(r)
	if n.step.Kind == trace.Replace {
		c.forged++
	}
	n.sent, n.gone, n.draws, n.events, n.changed = len(c.sent), len(c.gone), len(c.draws), len(c.events), len(c.changed)
	n.logs = len(c.logs)
	c.notes = append(c.notes, n)
}

// lastStep is the note of the last step, without its effects. The watchdog asks for it as well, before the step ends.
func (c *recorder) lastStep(r *Run) note {
	n := note{number: r.steps, step: *r.Last(), settle: r.settling}
	if r.info.Supports.Has(trace.Wait) {
		n.now = r.now
	}
	if !r.settling {
		n.round = len(r.opened)
	}
	switch n.step.Kind {
	case trace.Replace:
		n.text, n.body = messageText(r, &r.messages[n.step.Msg-1]), r.forged[n.step.Request]
		n.step.Request = c.forged // bodies forged for steps not taken do not count
	case trace.Request:
		n.text = r.given
	case trace.Timer:
		n.text = r.fired
	}
	return n
}

// write renders the notes since the last call as text.
func (c *recorder) write(r *Run) {
	c.records = slices.Grow(c.records, len(c.notes)-len(c.records))
	var from note
	if k := len(c.records); k > 0 {
		from = c.notes[k-1]
	}
	for i := len(c.records); i < len(c.notes); i++ {
		n := &c.notes[i]
		rec := c.record(r, n)
		rec.Sent = c.sentTexts(r, c.sent[from.sent:n.sent])
		rec.Gone, rec.Draws = part(c.gone, from.gone, n.gone), part(c.draws, from.draws, n.draws)
		rec.Events, rec.States = part(c.events, from.events, n.events), part(c.changed, from.changed, n.changed)
		rec.Logs = part(c.logs, from.logs, n.logs)
		for j := range rec.Events {
			asText(&rec.Events[j])
		}
		c.records = append(c.records, rec)
		from = *n
	}
}

// part is a copy of a part of a list, nil if that is empty.
func part[T any](list []T, from, to int) []T {
	if from == to {
		return nil
	}
	return slices.Clone(list[from:to])
}

// record is a note as text, without the step's effects.
func (c *recorder) record(r *Run, n *note) trace.Record {
	return trace.Record{
		Number: n.number,
		Step:   n.step,
		Settle: n.settle,
		Now:    n.now,
		Round:  n.round,
		Text:   c.stepText(r, n),
		Body:   n.body,
	}
}

// finish ends the recording. Rounds without steps after the last step are part of it.
func (c *recorder) finish(o trace.Outcome, r *Run, drawn map[string]string) *trace.Trace {
	c.write(r)
	t := c.soFar(r)
	t.Records = slices.Clip(t.Records)
	t.Outcome = o
	t.Header.Drawn = maps.Clone(drawn)
	//lockstep:unordered each value is changed on its own
	for k, v := range t.Header.Drawn {
		t.Header.Drawn[k] = trace.Cap(v)
	}
	return &t
}

// soFar is the recording as far as it is rendered as text.
func (c *recorder) soFar(r *Run) trace.Trace {
	return trace.Trace{Header: c.header, Rounds: slices.Clone(r.Rounds()), Records: c.records}
}

func (c *recorder) sentTexts(r *Run, messages []trace.Message) []trace.Sent {
	if len(messages) == 0 {
		return nil
	}
	sent := make([]trace.Sent, len(messages))
	for i, m := range messages {
		isLost := m.Fate == trace.Lost
		m.Fate = 0
		sent[i] = trace.Sent{Message: m, Text: messageText(r, &m), Lost: isLost}
		c.texts = append(c.texts, sent[i].Text)
	}
	return sent
}

// messageText is a message in the grammar of etcd's raft logs: "1->2 Prepare phase=1".
func messageText(r *Run, m *trace.Message) string {
	if text := r.textOf(m.Body); text != "" {
		return m.String() + " " + text
	}
	return m.String()
}

// stepText describes a step. All messages sent before it are already rendered as text.
func (c *recorder) stepText(r *Run, n *note) string {
	switch s := &n.step; s.Kind {
	case trace.Replace:
		if int(s.Msg) <= len(c.texts) {
			c.texts[s.Msg-1] = n.text
		}
		return n.text
	case trace.Deliver, trace.Drop, trace.Duplicate:
		if int(s.Msg) <= len(c.texts) {
			return c.texts[s.Msg-1]
		}
		return messageText(r, &r.messages[s.Msg-1])
	case trace.Request:
		return fmt.Sprintf("client->%d %s", s.Node, trace.Cap(n.text))
	case trace.Timer:
		if n.text != "" {
			return fmt.Sprintf("%d %s %s", s.Node, s.Kind, trace.Cap(n.text))
		}
		return fmt.Sprintf("%d %s", s.Node, s.Kind)
	case trace.Crash, trace.Restart, trace.Pause, trace.Jump:
		return fmt.Sprintf("%d %s", s.Node, s.Kind)
	case trace.Start:
		return ""
	default:
		return s.String()
	}
}
