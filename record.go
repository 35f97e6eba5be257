package lockstep

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// recorder is the watcher that writes down a run step by step.
type recorder struct {
	trace  trace.Trace
	states []string // last seen text of each node's state
	texts  []string // of the messages sent so far
}

// newRecorder makes a recorder of a run that will perhaps have so many steps.
func newRecorder(h trace.Header, steps int) *recorder {
	return &recorder{trace: trace.Trace{Header: h, Records: make([]trace.Record, 0, steps)}, states: make([]string, h.Nodes+1)}
}

// Look records the step just taken and what it caused.
func (c *recorder) Look(r *Run) {
	rec := trace.Record{Number: r.steps, Step: *r.Last(), Settle: r.settling, Text: c.stepText(r), Sent: c.sentTexts(r),
		Gone: slices.Clone(r.vanished), Draws: r.draws.told()}
	if r.Last().Kind == trace.Replace {
		rec.Body = r.forged[r.Last().Request]
	}
	if !r.settling {
		rec.Round = len(r.opened)
	}
	for i := range r.events {
		e := r.events[i]
		e.Type, e.Text, e.Value = trace.Cap(e.Type), valueText(&e), nil
		rec.Events = append(rec.Events, e)
	}
	rec.States = c.changedStates(r)
	c.trace.Records = append(c.trace.Records, rec)
}

// broken records a step in which the system panicked: what it caused is not known.
func (c *recorder) broken(r *Run) {
	rec := trace.Record{Number: r.steps, Step: *r.Last(), Settle: r.settling, Text: c.stepText(r), Sent: c.sentTexts(r), Draws: r.draws.told()}
	if !r.settling {
		rec.Round = len(r.opened)
	}
	c.trace.Records = append(c.trace.Records, rec)
}

// finish ends the recording. Rounds after the last step, in which nothing happened, are
// part of it.
func (c *recorder) finish(o trace.Outcome, r *Run, drawn map[string]string) *trace.Trace {
	t := c.trace
	t.Rounds = slices.Clone(r.Rounds())
	t.Records = slices.Clip(t.Records)
	t.Outcome = o
	t.Header.Drawn = maps.Clone(drawn)
	//lockstep:unordered each value by itself
	for k, v := range t.Header.Drawn {
		t.Header.Drawn[k] = trace.Cap(v)
	}
	return &t
}

func (c *recorder) changedStates(r *Run) []trace.State {
	var changed []trace.State
	for n := Node(1); int(n) <= r.info.Nodes; n++ {
		if text := r.State(n); text != c.states[n] {
			c.states[n] = text
			changed = append(changed, trace.State{Node: n, Text: text})
		}
	}
	return changed
}

func (c *recorder) sentTexts(r *Run) []trace.Sent {
	messages := r.Sent()
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
func messageText(r *Run, m *Message) string {
	if text := r.Text(m.ID); text != "" {
		return m.String() + " " + text
	}
	return m.String()
}

func (c *recorder) stepText(r *Run) string {
	switch s := r.Last(); s.Kind {
	case trace.Deliver, trace.Drop, trace.Duplicate, trace.Replace:
		if int(s.Msg) <= len(c.texts) && s.Kind != trace.Replace {
			return c.texts[s.Msg-1]
		}
		text := messageText(r, &r.messages[s.Msg-1])
		if int(s.Msg) <= len(c.texts) {
			c.texts[s.Msg-1] = text
		}
		return text
	case trace.Request:
		return fmt.Sprintf("client->%d %s", s.Node, trace.Cap(r.given))
	case trace.Alarm:
		if r.rang != "" {
			return fmt.Sprintf("%d %s %s", s.Node, s.Kind, trace.Cap(r.rang))
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
