package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// The limits of a table of values: on its rows, on the characters of a value, on the rows with which it is open, and on
// the types of events.
const (
	maxValues     = 200
	maxValueText  = 160
	fewValues     = 40
	maxValueKinds = 4
)

// values is how the values changed that a finding is about: what each node reported in events of the same types, over
// time. Operations are by client. Crashes, restarts and what a power failure took stand between the values.
type values struct {
	Columns  []string
	Rows     []valueRow
	Omitted  int // rows that are left out, before the others
	kinds    []string
	byClient bool              // by client
	last     map[string]string // the last value of a type in a column
}

// valueRow has the values that changed in a record, one cell for each column.
type valueRow struct {
	Number int
	Time   string
	Class  string // "finding", "about" or nothing
	Cells  []valueCell
}

type valueCell struct {
	Text     string
	Mentions bool // it has a value that the finding names
	Fault    bool
}

// Few reports whether the table is short enough to be read at once.
func (v *values) Few() bool { return len(v.Rows) <= fewValues }

// values returns the table of a run in time, or nil if the finding is about nothing that nodes reported.
func (s *drawing) values() *values {
	if s.finding < 0 || !timed(s.trace) {
		return nil
	}
	v := &values{kinds: s.valueKinds(), last: map[string]string{}}
	if len(v.kinds) == 0 {
		return nil
	}
	v.byClient = !slices.ContainsFunc(v.kinds, func(kind string) bool { return kind != "call" && kind != "return" })
	if !v.byClient {
		for n := 1; n <= s.trace.Header.Nodes; n++ {
			v.Columns = append(v.Columns, fmt.Sprint("node ", n))
		}
	}
	names := terms(s.trace)
	for i := range s.trace.Records {
		if i <= s.finding {
			v.add(s, i, names)
		}
	}
	for i := range v.Rows { // clients have their columns from their first operation on
		v.Rows[i].Cells = append(v.Rows[i].Cells, make([]valueCell, len(v.Columns)-len(v.Rows[i].Cells))...)
	}
	if v.Omitted = max(len(v.Rows)-maxValues, 0); v.Omitted > 0 {
		v.Rows = v.Rows[v.Omitted:]
	}
	return v
}

// valueKinds are the types of the events that the finding is about, at its nodes if there are some.
func (s *drawing) valueKinds() (kinds []string) {
	nodes := s.trace.Outcome.Finding.Nodes
	collect := func(all bool) {
		for _, i := range s.about {
			for _, e := range s.trace.Records[i].Events {
				if (all || nodes.Has(e.Node)) && eventRow(e) != rowFault && eventRow(e) != rowLog &&
					!slices.Contains(kinds, e.Type) && len(kinds) < maxValueKinds {
					kinds = append(kinds, e.Type)
				}
			}
		}
	}
	if collect(false); len(kinds) == 0 {
		collect(true)
	}
	return kinds
}

// add adds the row of a record, if a value changed in it.
func (v *values) add(s *drawing, i int, names []string) {
	rec := &s.trace.Records[i]
	cells := make([]valueCell, len(v.Columns))
	some := false
	put := func(column int, text string, fault bool) {
		for len(cells) <= column {
			cells = append(cells, valueCell{})
		}
		c := &cells[column]
		text = plain.Cut(plain.Clean(text), maxValueText)
		if c.Text != "" {
			text = plain.Cut(c.Text+"; "+text, 3*maxValueText)
		}
		c.Text, c.Fault, c.Mentions = text, c.Fault || fault, c.Mentions || mentions(text, names)
		some = true
	}
	if k := rec.Step.Kind; (k == trace.Crash || k == trace.Restart) && !v.byClient {
		put(int(rec.Step.Node)-1, k.String(), true)
	}
	for _, e := range rec.Events {
		column, text := v.column(e)
		switch {
		case column < 0:
		case e.Type == "power-failure":
			put(column, "the power failure takes "+e.Text, true)
		case slices.Contains(v.kinds, e.Type):
			key := fmt.Sprintf("%d %s", column, e.Type)
			if v.last[key] == text && text != "" {
				continue
			}
			v.last[key] = text
			if len(v.kinds) > 1 {
				text = strings.TrimSpace(e.Type + " " + text)
			}
			put(column, text, false)
		}
	}
	if !some {
		return
	}
	row := valueRow{Number: rec.Number, Time: clockTime(rec.Now), Cells: cells}
	switch {
	case i == s.finding:
		row.Class = "finding"
	case contains(s.about, i):
		row.Class = "about"
	}
	v.Rows = append(v.Rows, row)
}

// column returns the column of an event, -1 if it has none, and the event's text there.
func (v *values) column(e trace.Event) (int, string) {
	if !v.byClient {
		if e.Node < 1 || int(e.Node) > len(v.Columns) {
			return -1, ""
		}
		return int(e.Node) - 1, e.Text
	}
	client, text, _ := strings.Cut(e.Text, " ")
	if e.Type != "call" && e.Type != "return" || client == "" {
		return -1, ""
	}
	client = plain.Cut(plain.Clean(client), cellCharsMax)
	k := slices.Index(v.Columns, client)
	if k < 0 && len(v.Columns) < trace.MaxNodes {
		k = len(v.Columns)
		v.Columns = append(v.Columns, client)
	}
	return k, text
}

// markdown writes the table.
func (v *values) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n\n", v.Caption())
	line := func(cells ...string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	head, rule := []string{"time"}, []string{"---"}
	for _, c := range v.Columns {
		head, rule = append(head, cell(c)), append(rule, "---")
	}
	line(head...)
	line(rule...)
	for _, r := range v.Rows {
		cells := []string{r.Time}
		for _, c := range r.Cells {
			text := cell(c.Text)
			switch {
			case c.Fault:
				text = "*" + text + "*"
			case r.Class != "" && text != "":
				text = "**" + text + "**"
			}
			cells = append(cells, text)
		}
		line(cells...)
	}
	b.WriteByte('\n')
}

// Caption says what the table shows.
func (v *values) Caption() string {
	of := "node"
	if v.byClient {
		of = "client"
	}
	text := fmt.Sprintf("What the finding is about, by %s: %s.", of, plain.Clean(strings.Join(v.kinds, ", ")))
	if v.Omitted > 0 {
		text += fmt.Sprintf(" The first %d rows are left out.", v.Omitted)
	}
	return text
}
