package system

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/trace"
)

// Counterexample is a violation that the search of the sequential program found, as a
// trace in rounds, to be drawn like any other. It is a picture of the sequential
// program, not a run of the asynchronous one: it has no seed and does not replay.
func Counterexample(p *machine.Program, v *explore.Violation) *trace.Trace {
	c := &drawing{program: p, trace: &trace.Trace{Header: trace.Header{Format: trace.Version, Tool: lockstep.Version, Target: "distal " + p.Checked.Name,
		Strategy: "sequential", Nodes: p.N, Rounds: p.Checked.Rounds}}}
	c.add(trace.Record{})
	for _, row := range v.Trace {
		c.round(row)
	}
	last := len(c.trace.Records) - 1
	c.trace.Outcome = trace.Outcome{Verdict: trace.Fail, Steps: last,
		Finding: &trace.Finding{Property: v.Property, Text: v.Text, Step: last}}
	return c.trace
}

// drawing is a counterexample in the making.
type drawing struct {
	program *machine.Program
	trace   *trace.Trace
	sent    trace.ID
}

func (c *drawing) add(r trace.Record) {
	r.Number = len(c.trace.Records)
	r.Round = len(c.trace.Rounds)
	c.trace.Records = append(c.trace.Records, r)
}

// round draws one round: time-outs, then every message, received or lost, then what the
// nodes have become.
func (c *drawing) round(row sequential.Row) {
	all := trace.AllNodes(c.program.N)
	c.trace.Rounds = append(c.trace.Rounds, trace.Round{Number: len(c.trace.Rounds) + 1, Phase: int(row.Tag.Phase),
		Name: c.program.Checked.Rounds[row.Tag.Round], Kernel: all})
	for i := range row.Nodes {
		cell := &row.Nodes[i]
		if cell.TimedOut {
			n := lockstep.Node(i + 1)
			c.add(trace.Record{Step: trace.Step{Kind: trace.Alarm, Node: n}, Text: fmt.Sprintf("%d alarm", n)})
		}
	}
	for from := range row.Nodes {
		for to := range row.Nodes {
			if row.Nodes[from].SentTo&(1<<to) != 0 {
				c.message(row, from, to)
			}
		}
	}
	c.states(row)
}

// message draws a message of a round. It is sent in the record of its own arrival or
// loss: in lock-step everyone sends before anyone receives.
func (c *drawing) message(row sequential.Row, from, to int) {
	m := row.Nodes[from].Sent
	c.sent++
	text := c.program.FormatMessage(m)
	kind, content, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	envelope := trace.Message{ID: c.sent, From: lockstep.Node(from + 1), To: lockstep.Node(to + 1), Type: kind,
		Tag: trace.Tag{Phase: int32(m.Tag.Phase), Round: int32(m.Tag.Round)}}
	text = fmt.Sprintf("%s (%s)", envelope, content)
	last := &c.trace.Records[len(c.trace.Records)-1]
	last.Sent = append(last.Sent, trace.Sent{Message: envelope, Text: text})
	step := trace.Step{Kind: trace.Drop, Msg: c.sent}
	if row.Nodes[to].Received&(1<<from) != 0 {
		step.Kind = trace.Deliver
	}
	c.add(trace.Record{Step: step, Text: text})
}

// states adds to the last record of a round what the nodes have become and output.
func (c *drawing) states(row sequential.Row) {
	last := &c.trace.Records[len(c.trace.Records)-1]
	for i := range row.Nodes {
		cell, n := &row.Nodes[i], lockstep.Node(i+1)
		last.States = append(last.States, trace.State{Node: n, Text: stateText(c.program, cell.State)})
		for _, v := range cell.Outputs {
			last.Events = append(last.Events, trace.Event{Node: n, Type: "output", Text: machine.Format(c.program.Checked.Output, v)})
		}
	}
}

// stateText is a state with a blank only between its variables.
func stateText(p *machine.Program, s *machine.State) string {
	return strings.ReplaceAll(p.FormatState(s), ", ", ",")
}
