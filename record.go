package lockstep

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// recorder writes down a run step by step.
type recorder struct {
	trace  trace.Trace
	states []string // last seen text of each node's state
}

func newRecorder(h trace.Header) *recorder {
	return &recorder{trace: trace.Trace{Header: h}, states: make([]string, h.Nodes+1)}
}

// step records the step just taken and what it caused.
func (c *recorder) step(r *Run, sched Scheduler) {
	rec := trace.Record{Number: r.steps, Step: *r.last, Settle: r.settling, Text: stepText(r), Sent: sentTexts(r)}
	if r.last.Kind == trace.Replace {
		rec.Body = r.forged[r.last.Request]
	}
	if c.addRounds(sched); !r.settling {
		rec.Round = len(c.trace.Rounds)
	}
	if d, ok := sched.(Drawer); ok && r.steps == 0 {
		c.trace.Header.Drawn = d.Drawn()
	}
	for _, e := range r.events {
		if e.Text == "" && e.Value != nil {
			e.Text = fmt.Sprint(e.Value)
		}
		e.Value = nil
		rec.Events = append(rec.Events, e)
	}
	rec.States = c.changedStates(r)
	c.trace.Records = append(c.trace.Records, rec)
}

// broken records a step in which the system panicked: what it caused is not known.
func (c *recorder) broken(r *Run) {
	c.trace.Records = append(c.trace.Records, trace.Record{Number: r.steps, Step: *r.last, Settle: r.settling,
		Text: stepText(r), Sent: sentTexts(r), Round: len(c.trace.Rounds)})
}

// addRounds takes over the rounds that the scheduler has opened since the last time.
func (c *recorder) addRounds(sched Scheduler) {
	if rs, ok := sched.(RoundScheduler); ok {
		c.trace.Rounds = append(c.trace.Rounds, rs.Rounds()[len(c.trace.Rounds):]...)
	}
}

// finish ends the recording. Rounds after the last step, in which nothing happened, are
// part of it.
func (c *recorder) finish(o trace.Outcome, sched Scheduler) *trace.Trace {
	c.addRounds(sched)
	t := c.trace
	t.Records = slices.Clip(t.Records)
	t.Outcome = o
	return &t
}

func (c *recorder) changedStates(r *Run) []trace.State {
	d, ok := r.system.(Describer)
	if !ok {
		return nil
	}
	var changed []trace.State
	for n := Node(1); int(n) <= r.info.Nodes; n++ {
		text := "down"
		if r.up.Has(n) {
			text = d.StateText(n)
		}
		if text != c.states[n] {
			c.states[n] = text
			changed = append(changed, trace.State{Node: n, Text: text})
		}
	}
	return changed
}

func sentTexts(r *Run) []trace.Sent {
	var sent []trace.Sent
	for _, m := range r.Sent() {
		sent = append(sent, trace.Sent{Message: m, Text: messageText(r, m), Lost: r.status[m.ID-1] == lost})
	}
	return sent
}

// messageText is a message in the grammar of etcd's raft logs: "1->2 Prepare phase=1".
func messageText(r *Run, m Message) string {
	if d, ok := r.system.(Describer); ok {
		if text := d.MessageText(m.Body); text != "" {
			return m.String() + " " + text
		}
	}
	return m.String()
}

func stepText(r *Run) string {
	switch s := r.last; s.Kind {
	case trace.Deliver, trace.Drop, trace.Duplicate, trace.Replace:
		return messageText(r, r.messages[s.Msg-1])
	case trace.Request:
		return fmt.Sprintf("client->%d %s", s.Node, r.given)
	case trace.Alarm, trace.Crash, trace.Restart:
		return fmt.Sprintf("%d %s", s.Node, s.Kind)
	case trace.Start:
		return ""
	default:
		return s.String()
	}
}
