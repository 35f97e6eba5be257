package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// viewData is the data of a view for the page's script, which shows steps and their causal past.
type viewData struct {
	ID      string     `json:"id"`
	Columns int        `json:"columns"`
	Finding int        `json:"finding"` // column, -1: none
	About   []int      `json:"about"`   // the steps of the finding, by index
	Text    string     `json:"text"`    // of the finding
	Steps   []stepData `json:"steps"`
}

// stepData is one step.
type stepData struct {
	Number int      `json:"n"`
	Column int      `json:"c"`
	Node   int      `json:"x"`     // the acting node; 0: the network
	Cause  int      `json:"cause"` // index of the step that sent the message, -1: none
	What   string   `json:"what"`
	Lines  []string `json:"lines"` // its effects
}

// mail is a message of a run with its fate.
type mail struct {
	trace.Sent
	sentBy int // index of the record that sent it
	takeBy int // index of the record that delivered or lost it, -1: still in flight
	lost   bool
	forged bool
}

// drawing is a trace prepared for drawing: the records shown, and the fate of each message.
type drawing struct {
	trace   *trace.Trace
	options PageOptions
	first   int // index of the first record shown
	mails   map[trace.ID]*mail
	changed [][]change // by record
	finding int        // index of the record with the finding, -1: none
	about   []int      // the records of the finding
	out     []outage   // by record: the nodes that are out after it
	phases  *phases    // the phases by which the run is sorted; nil: it is not sorted
}

func newDrawing(t *trace.Trace, o PageOptions) *drawing {
	s := &drawing{
		trace:   t,
		options: o,
		mails:   map[trace.ID]*mail{},
		finding: -1,
		first:   max(0, len(t.Records)-o.MaxSteps),
	}
	for i := range t.Records {
		rec := &t.Records[i]
		for _, m := range rec.Sent {
			s.mails[m.ID] = &mail{Sent: m, sentBy: i, takeBy: -1, lost: m.Lost}
		}
		for _, id := range rec.Gone {
			if m := s.mails[id]; m != nil {
				m.takeBy, m.lost = i, true
			}
		}
		m := s.mails[rec.Step.Msg]
		if m == nil {
			continue
		}
		switch rec.Step.Kind {
		case trace.Deliver, trace.Drop:
			m.takeBy, m.lost = i, rec.Step.Kind == trace.Drop
		case trace.Replace:
			m.forged = true
		}
	}
	if f := t.Outcome.Finding; f != nil && len(t.Records) > 0 {
		s.finding = min(max(f.Step, 0), len(t.Records)-1)
	}
	s.about, s.out = about(t), outages(t)
	s.changes()
	return s
}

// change is the effect of a record on the state of a node, one field per line: "phase=2".
type change struct {
	node  trace.Node
	lines []string
}

// changes computes the changes of every record.
func (s *drawing) changes() {
	was := make([]string, s.trace.Header.Nodes+1)
	for i := range s.trace.Records {
		var list []change
		for _, st := range s.trace.Records[i].States {
			if st.Node == 0 || int(st.Node) >= len(was) {
				continue
			}
			list = append(list, change{st.Node, changes(was[st.Node], st.Text)})
			was[st.Node] = plain.Clean(st.Text)
		}
		s.changed = append(s.changed, list)
	}
}

// text cleans and shortens a text of the trace for display.
func (s *drawing) text(t string) string { return plain.Cut(plain.Clean(t), s.options.MaxText) }

// actor returns the node that acts in a record; 0 if only the network does.
func (s *drawing) actor(i int) trace.Node {
	rec := &s.trace.Records[i]
	n := trace.Node(0)
	switch rec.Step.Kind {
	case trace.Deliver:
		if m := s.mails[rec.Step.Msg]; m != nil {
			n = m.To
		}
	case trace.Timer, trace.Crash, trace.Restart, trace.Request, trace.Pause, trace.Jump:
		n = rec.Step.Node
	}
	if int(n) > s.trace.Header.Nodes {
		return 0
	}
	return n
}

// isAnswer reports whether an event answers a client.
func (s *drawing) isAnswer(e trace.Event) bool { return slices.Contains(s.options.Answers, e.Type) }

// has reports whether any record shown passes the test.
func (s *drawing) has(test func(*trace.Record) bool) bool {
	for i := s.first; i < len(s.trace.Records); i++ {
		if test(&s.trace.Records[i]) {
			return true
		}
	}
	return false
}

// hasClients reports whether the run has requests, answers or messages from outside.
func (s *drawing) hasClients() bool {
	return s.has(func(r *trace.Record) bool {
		return r.Step.Kind == trace.Request || slices.ContainsFunc(r.Events, s.isAnswer) ||
			slices.ContainsFunc(r.Sent, func(m trace.Sent) bool { return m.From == 0 })
	})
}

// what describes a record in a few words.
func (s *drawing) what(i int) string {
	rec := &s.trace.Records[i]
	kind := rec.Step.Kind
	what := kind.String() + " " + rec.Text
	m := s.mails[rec.Step.Msg]
	switch {
	case kind == trace.Start:
		what = "start"
	case kind == trace.Timer, kind == trace.Crash, kind == trace.Restart, kind == trace.Pause, kind == trace.Jump:
		what = fmt.Sprintf("%s at node %d", kind, rec.Step.Node)
	case kind == trace.Cut, kind == trace.Heal:
		what = rec.Step.String()
	case kind == trace.Wait:
		what = "wait " + lasts(rec.Step)
	case kind == trace.Deliver && m != nil && m.forged:
		what = "deliver forged " + rec.Text
	}
	return s.text(strings.TrimSpace(what))
}

// forged returns the number of messages that were changed, and the nodes that sent them.
func (s *drawing) forged() (n int, by trace.Nodes) {
	for i := range s.trace.Records {
		if step := &s.trace.Records[i].Step; step.Kind == trace.Replace {
			n++
			if m := s.mails[step.Msg]; m != nil && m.From > 0 {
				by |= trace.NodesOf(m.From)
			}
		}
	}
	return n, by
}

// lasts returns the duration of a wait. Systems with time count it in nanoseconds.
func lasts(s trace.Step) string { return time.Duration(s.For).String() }

// effects returns the effects of a record, one per line.
func (s *drawing) effects(i int) []string {
	rec := &s.trace.Records[i]
	lines := []string{}
	for _, st := range rec.States {
		lines = append(lines, s.text(fmt.Sprintf("node %d: %s", st.Node, st.Text)))
	}
	for _, e := range rec.Events {
		lines = append(lines, s.text(fmt.Sprintf("event at node %d: %s %s", e.Node, e.Type, e.Text)))
	}
	for _, m := range rec.Sent {
		text := "sends " + m.Text
		if m.Lost {
			text = "sends into a cut " + m.Text
		}
		lines = append(lines, s.text(text))
	}
	if i == s.finding {
		f := s.trace.Outcome.Finding
		lines = append(lines, s.text("violates "+f.Property+": "+f.Text))
	}
	return lines
}

// data returns the data for the page's script, given the column of each record.
func (s *drawing) data(id string, columns int, column map[int]int) viewData {
	d := viewData{ID: id, Columns: columns, Finding: -1, About: []int{}, Steps: []stepData{}}
	for _, i := range s.about {
		if i >= s.first {
			d.About = append(d.About, i-s.first)
		}
	}
	for i := s.first; i < len(s.trace.Records); i++ {
		rec := &s.trace.Records[i]
		step := stepData{
			Number: rec.Number,
			Column: column[i],
			Node:   int(s.actor(i)),
			Cause:  -1,
			What:   s.what(i),
			Lines:  s.effects(i),
		}
		if m := s.mails[rec.Step.Msg]; m != nil {
			step.Cause = max(-1, m.sentBy-s.first)
		}
		if i == s.finding {
			d.Finding, d.Text = step.Column, s.text(s.trace.Outcome.Finding.Text)
		}
		d.Steps = append(d.Steps, step)
	}
	return d
}

// The limits of the lines of steps that are not drawn: on the characters of each, and on the bytes of all. Beyond the
// second, lines are cut at the first limit's quarter.
const (
	maxEarlyLine = 200
	maxEarly     = 1 << 20
)

// early lists the steps before those that are drawn, one per line: number, time, step and effects.
func (s *drawing) early() string {
	var b strings.Builder
	for i := range s.first {
		rec := &s.trace.Records[i]
		line := fmt.Sprintf("%d  ", rec.Number)
		if rec.Now > 0 {
			line += clockTime(rec.Now) + "  "
		}
		line += strings.Join(append([]string{s.what(i)}, s.effects(i)...), " · ")
		limit := maxEarlyLine
		if b.Len() > maxEarly {
			limit /= 4
		}
		b.WriteString(plain.Cut(line, limit) + "\n")
	}
	return b.String()
}

// tableRow is a step in the table for readers that cannot see the picture.
type tableRow struct {
	Number  int
	Round   string
	What    string
	Effects []string
	Class   string // "finding", "about" or nothing
}

// table lists the steps that the picture shows.
func (s *drawing) table() []tableRow {
	var rows []tableRow
	for i := s.first; i < len(s.trace.Records); i++ {
		rec := &s.trace.Records[i]
		row := tableRow{Number: rec.Number, What: s.what(i), Effects: s.effects(i)}
		switch {
		case i == s.finding:
			row.Class = "finding"
		case contains(s.about, i):
			row.Class = "about"
		}
		switch {
		case s.phases != nil:
			row.Round = s.text(s.phases.name(s.phases.of(s, i)))
		case rec.Settle:
			row.Round = "settling"
		case rec.Round > 0 && rec.Round <= len(s.trace.Rounds):
			r := s.trace.Rounds[rec.Round-1]
			row.Round = s.text(fmt.Sprintf("%d %s", r.Number, r.Name))
			if out := trace.AllNodes(s.trace.Header.Nodes) &^ r.Kernel; out != 0 {
				row.Round += fmt.Sprintf(" (isolated: %s)", out)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// subtitle describes the origin of a run.
func subtitle(h trace.Header) string {
	s := plain.Named(h.Target, h.Build, h.Options)
	if _, ok := h.Options["nodes"]; !ok {
		s += " · " + words.Count(h.Nodes, "node")
	}
	s += " · " + plain.Clean(h.Strategy)
	if h.Scenario != "" {
		s += " · scenario " + plain.Clean(h.Scenario)
	}
	return fmt.Sprintf("%s · seed %d · run %d", s, h.Seed, h.Run)
}
