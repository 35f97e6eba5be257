package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// The types of the rows of a timeline. Readers filter by them.
const (
	rowFault    = "fault"    // what the engine did to nodes and links
	rowOperator = "operator" // what the operator asked for and was answered
	rowClient   = "client"   // what a client asked for and was answered
	rowRole     = "role"     // a node changed its role
	rowEvent    = "event"    // something that a node reported
	rowLog      = "log"      // a line of a server's own log
	rowSum      = "sum"      // of the steps since the row before
	rowFinding  = "finding"
)

// rowTypes are the types that readers can hide, in the order in which pages offer them.
var rowTypes = []string{rowFault, rowOperator, rowClient, rowRole, rowEvent, rowLog}

// moment is a row of a timeline.
type moment struct {
	At     trace.Time
	Time   string // virtual time since the start
	Number int    // of the step
	First  bool   // the first row of its step
	Node   trace.Node
	Type   string
	Text   string
	Stage  string
	// Past says that the finding depends on the row: its node was there before what the finding is about, or a message
	// led from there to it.
	Past bool
	// Mentions says that the row has a value that the finding names.
	Mentions bool
	Class    string // "finding", "about" or nothing
	Logs     int    // of a sum: the log lines that follow it
}

// Summary reports whether the row sums up steps.
func (m moment) Summary() bool { return m.Type == rowSum }

// Is reports whether the row has a type.
func (m moment) Is(kind string) bool { return m.Type == kind }

// Types are the types of rows that readers can hide, of those that the timeline has.
func (t *timeline) Types() []string {
	return slices.DeleteFunc(slices.Clone(rowTypes), func(kind string) bool {
		return !slices.ContainsFunc(t.Rows, func(m moment) bool { return m.Type == kind })
	})
}

// NodeNames are the numbers of the nodes that have rows.
func (t *timeline) NodeNames() (list []trace.Node) {
	for n := range trace.AllNodes(t.Nodes).All() {
		if slices.ContainsFunc(t.Rows, func(m moment) bool { return m.Node == n }) {
			list = append(list, n)
		}
	}
	return list
}

// Found reports whether the run has a finding.
func (t *timeline) Found() bool { return t.end >= 0 }

// timelineFrom is the number of steps from which on a run in time has a timeline.
const timelineFrom = 30

// The limits of a timeline: on its rows, and on the lost messages that have rows of their own unless the run is shrunk.
const (
	maxRows = 8000
	maxLost = 50
)

// timeline is what happened in a run of a system with time, for readers that know the system: faults, operations of
// clients and operators and their answers, changes of roles, observed events, and the logs of servers. Most steps of
// such a run deliver messages or let time pass; between the rows they are summed up.
type timeline struct {
	Rows    []moment
	Omitted int // rows that are left out, before the others
	Nodes   int
	drawing *drawing
	past    *causes
	terms   []string
	asked   map[string]trace.Time // when the open operation of a client began
	last    map[string]string     // the last event of a type at a node
	since   passed
	rare    bool // every lost message has its row
	end     int  // index of the row of the finding, -1: none
}

// timeline returns the timeline of a run, or nil if the run needs none.
func (s *drawing) timeline() *timeline {
	if !timed(s.trace) {
		return nil
	}
	t := &timeline{drawing: s, Nodes: s.trace.Header.Nodes, past: causesOf(s.trace, s.about), terms: terms(s.trace),
		asked: map[string]trace.Time{}, last: map[string]string{}, end: -1}
	lost := 0
	for i := range s.trace.Records {
		lost += mix.Bit(s.trace.Records[i].Step.Kind == trace.Drop)
	}
	t.rare = lost <= maxLost || s.trace.Header.Shrunk != ""
	for i := range s.trace.Records {
		t.record(i)
	}
	t.flush(trace.Time(0))
	t.limit()
	return t
}

// timed reports whether a run has a timeline: time passes in it, and it has more than a few steps.
func timed(t *trace.Trace) bool {
	return len(t.Rounds) == 0 && len(t.Records) >= timelineFrom &&
		slices.ContainsFunc(t.Records, func(r trace.Record) bool { return r.Step.Kind == trace.Wait })
}

// record adds the rows of a record.
func (t *timeline) record(i int) {
	s := t.drawing
	rec := &s.trace.Records[i]
	var rows []moment
	add := func(at trace.Time, n trace.Node, kind, text string) {
		rows = append(rows, moment{At: at, Node: n, Type: kind, Text: s.text(text)})
	}
	if kind, text := t.step(i); text != "" {
		add(rec.Now, s.actor(i), kind, text)
	}
	for _, l := range rec.Logs {
		add(cmp.Or(l.At, rec.Now), l.Node, rowOf(l.Source), logText(l))
	}
	for _, e := range rec.Events {
		if text := t.event(e, rec.Now); text != "" {
			n := e.Node
			if e.Type == "call" { // the client asks the node that gets its request
				n = cmp.Or(n, s.actor(i))
			}
			add(rec.Now, n, eventRow(e), text)
		}
	}
	slices.SortStableFunc(rows, func(a, b moment) int { return cmp.Compare(a.At, b.At) })
	for k := range rows {
		m := &rows[k]
		m.Past, m.Mentions = t.past.has(i, m.Node), mentions(m.Text, t.terms)
	}
	if i == s.finding {
		f := s.trace.Outcome.Finding
		rows = append(rows, moment{At: rec.Now, Type: rowFinding, Past: true,
			Text: s.text("violates " + f.Property + ": " + f.Text)})
	}
	t.place(i, rows)
}

// place appends the rows of a record to the timeline, after a sum of what was before them.
func (t *timeline) place(i int, rows []moment) {
	s := t.drawing
	rec := &s.trace.Records[i]
	t.since.add(s, i, t.rare)
	for k := range rows {
		m := rows[k]
		m.Time, m.Number, m.First = clockTime(m.At), rec.Number, k == 0
		if rec.Settle {
			m.Stage = "settling"
		}
		switch {
		case m.Type == rowFinding:
			m.Class = "finding"
		case contains(s.about, i):
			m.Class = "about"
		}
		if m.Type == rowLog {
			t.since.logs = append(t.since.logs, m)
			continue
		}
		t.flush(m.At)
		if m.Type == rowFinding {
			t.end = len(t.Rows)
		}
		t.Rows = append(t.Rows, m)
	}
}

// flush adds the sum of the steps since the last row, and the log lines of that time.
func (t *timeline) flush(at trace.Time) {
	text := t.since.String()
	if len(t.since.logs) > 0 {
		t.Rows = append(t.Rows, moment{At: at, Type: rowSum, Text: text, Logs: len(t.since.logs),
			Past: slices.ContainsFunc(t.since.logs, func(m moment) bool { return m.Past })})
		t.Rows = append(t.Rows, t.since.logs...)
	} else if text != "" {
		t.Rows = append(t.Rows, moment{At: at, Type: rowSum, Text: text, Past: true})
	}
	t.since = passed{}
}

// limit leaves out the first rows if there are too many.
func (t *timeline) limit() {
	if t.Omitted = len(t.Rows) - maxRows; t.Omitted > 0 {
		t.Rows = t.Rows[t.Omitted:]
		t.end -= t.Omitted
	}
	t.Omitted = max(t.Omitted, 0)
}

// step returns a record's own row: its type and its text, which is empty if it needs no row.
func (t *timeline) step(i int) (kind, text string) {
	s := t.drawing
	rec := &s.trace.Records[i]
	switch rec.Step.Kind {
	case trace.Start, trace.Wait, trace.Deliver, trace.Timer:
		return "", ""
	case trace.Drop:
		if !t.rare {
			return "", ""
		}
		return rowFault, "loses " + rec.Text
	case trace.Request:
		if slices.ContainsFunc(rec.Events, func(e trace.Event) bool { return e.Type == "call" }) {
			return "", "" // the event says the same
		}
		_, what, _ := strings.Cut(rec.Text, " ")
		kind = rowOperator
		if isClient(what) {
			kind = rowClient
		}
		return kind, what
	}
	return rowFault, s.what(i)
}

// isClient reports whether a request is a client's: its text begins with the client, as in "c1 put".
func isClient(what string) bool {
	return len(what) > 1 && what[0] == 'c' && what[1] >= '0' && what[1] <= '9'
}

// event returns an event as text, or the empty string if the node reports the same as before.
func (t *timeline) event(e trace.Event, now trace.Time) string {
	took := took(t.asked, e, now)
	switch e.Type {
	case "call":
		return e.Text
	case "return":
		return e.Text + took
	case "log":
		return e.Text
	}
	key := fmt.Sprintf("%d %s", e.Node, e.Type)
	text := strings.TrimSpace(e.Type + " " + e.Text)
	if t.last[key] == text && e.Text != "" {
		t.since.repeated++
		return ""
	}
	t.last[key] = text
	return text
}

// eventRow returns the type of the row of an event.
func eventRow(e trace.Event) string {
	switch e.Type {
	case "call", "return":
		return rowClient
	case "power-failure", "paused", "thawed", "clock", "exited", "reconfigured":
		return rowFault
	}
	if e.Type == "log" { // servers in processes report their lines as events
		return rowLog
	}
	return rowEvent
}

// rowOf returns the type of the rows of a source of log lines.
func rowOf(source string) string {
	switch source {
	case trace.LogClient:
		return rowClient
	case trace.LogOperator:
		return rowOperator
	case trace.LogRole:
		return rowRole
	}
	return rowLog
}

// logText returns a log line as text.
func logText(l trace.Log) string {
	switch {
	case l.Source == trace.LogRole:
		return "is " + l.Text
	case l.Level != "" && l.Level != "info":
		return strings.ToUpper(l.Level) + " " + l.Text
	}
	return l.Text
}

// took returns how long an operation took, if the event is its answer.
func took(asked map[string]trace.Time, e trace.Event, now trace.Time) string {
	client, _, _ := strings.Cut(e.Text, " ")
	switch e.Type {
	case "call":
		asked[client] = now
	case "return":
		from, known := asked[client]
		delete(asked, client)
		if known && now > from {
			return fmt.Sprintf(" (after %s)", rounded(now-from))
		}
	}
	return ""
}

// clockTime returns a time of the run as text.
func clockTime(at trace.Time) string { return fmt.Sprintf("%.3f s", time.Duration(at).Seconds()) }

// rounded returns a duration with three digits or so.
func rounded(d trace.Time) time.Duration {
	unit := time.Duration(1)
	for time.Duration(d) >= 1000*unit {
		unit *= 10
	}
	return time.Duration(d).Round(unit)
}

// identifier matches identifiers of nodes and connections in a type of message.
var identifier = regexp.MustCompile(`[0-9a-f]{8,}`)

// passed counts the steps between two rows of a timeline, and has the log lines.
type passed struct {
	delivered map[string]int // by type
	lost      int
	repeated  int // events
	logs      []moment
}

func (p *passed) add(s *drawing, i int, rare bool) {
	rec := &s.trace.Records[i]
	if rec.Step.Kind == trace.Drop && !rare {
		p.lost++
	}
	if m := s.mails[rec.Step.Msg]; rec.Step.Kind == trace.Deliver && m != nil {
		if p.delivered == nil {
			p.delivered = map[string]int{}
		}
		p.delivered[identifier.ReplaceAllString(m.Type, "…")]++
	}
}

// most is the number of message types that a summary names.
const most = 4

// String sums up the messages, the most frequent types first.
func (p *passed) String() string {
	types := slices.SortedFunc(maps.Keys(p.delivered), func(a, b string) int {
		return cmp.Or(p.delivered[b]-p.delivered[a], strings.Compare(a, b))
	})
	var parts []string
	others := 0
	for i, kind := range types {
		if i < most {
			parts = append(parts, fmt.Sprintf("%d %s", p.delivered[kind], plain.Clean(kind)))
		} else {
			others += p.delivered[kind]
		}
	}
	if others > 0 {
		parts = append(parts, words.Count(others, "message of other types"))
	}
	if p.lost > 0 {
		parts = append(parts, words.Count(p.lost, "message lost"))
	}
	if p.repeated > 0 {
		parts = append(parts, words.Count(p.repeated, "event as before"))
	}
	return strings.Join(parts, ", ")
}
