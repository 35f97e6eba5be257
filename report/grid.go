package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// Options of the text pictures.
type Options struct {
	// Width is the number of columns to fit into; 0 means 100.
	Width int
	// Color marks findings and isolated nodes with terminal colours.
	Color bool
}

func (o Options) width() int {
	if o.Width <= 0 {
		return 100
	}
	return max(o.Width, 40)
}

// Grid draws a recorded run: its heading, the rounds or steps, and the finding.
func Grid(w io.Writer, t *trace.Trace, o Options) error {
	var b strings.Builder
	heading(&b, t)
	if len(t.Rounds) > 0 {
		drawRounds(&b, t, o)
	} else {
		drawSteps(&b, t, o)
	}
	closing(&b, t, o)
	_, err := io.WriteString(w, b.String())
	return err
}

func heading(b *strings.Builder, t *trace.Trace) {
	h := t.Header
	fmt.Fprintf(b, "%s, %d nodes, %s, seed %d, run %d\n", plain.Clean(h.Target), h.Nodes, plain.Clean(h.Strategy), h.Seed, h.Run)
	if h.Scenario != "" {
		fmt.Fprintf(b, "scenario %s\n", plain.Clean(h.Scenario))
	}
	if h.Shrunk != "" {
		fmt.Fprintf(b, "shrunk %s\n", plain.Clean(h.Shrunk))
	}
	b.WriteByte('\n')
}

func closing(b *strings.Builder, t *trace.Trace, o Options) {
	out := t.Outcome
	switch {
	case out.Finding != nil:
		f := out.Finding
		fmt.Fprintf(b, "%s at step %d: %s\n", o.red("FAIL "+plain.Clean(f.Property)), f.Step, plain.Clean(f.Text))
		for _, line := range strings.Split(strings.TrimRight(f.Stack, "\n"), "\n") {
			if line != "" {
				fmt.Fprintf(b, "    %s\n", plain.Clean(strings.ReplaceAll(line, "\t", "    ")))
			}
		}
	case out.Reason != "":
		fmt.Fprintf(b, "%s after %d steps: %s\n", strings.ToUpper(string(out.Verdict)), out.Steps, plain.Clean(out.Reason))
	default:
		fmt.Fprintf(b, "%s after %d steps\n", strings.ToUpper(string(out.Verdict)), out.Steps)
	}
}

// column is a round, or a stretch of quiet rounds, as the grid shows it.
type column struct {
	head  []string
	cells [][]string // by node-1
	foot  [3][]string
	quiet int // number of rounds collapsed
	phase int
	fail  bool
}

// The rows below the nodes.
const (
	footDelivered = iota
	footLost
	footLinks // cut and healed
)

var footNames = [3]string{"arrived", "lost", "links"}

func drawRounds(b *strings.Builder, t *trace.Trace, o Options) {
	columns := collapse(roundColumns(t))
	names := make([]string, t.Header.Nodes)
	label := len(footNames[footDelivered])
	for i := range names {
		names[i] = fmt.Sprintf("node %d", i+1)
		label = max(label, len(names[i]))
	}
	for len(columns) > 0 {
		used, k := label, 0
		for k < len(columns) && (k == 0 || used+3+columns[k].width() <= o.width()) {
			used += 3 + columns[k].width()
			k++
		}
		drawBlock(b, columns[:k], names, label, o)
		b.WriteByte('\n')
		columns = columns[k:]
	}
	drawSettling(b, t)
}

func drawSettling(b *strings.Builder, t *trace.Trace) {
	for i := range t.Records {
		if t.Records[i].Settle {
			fmt.Fprintf(b, "then %d steps of settling\n\n", len(t.Records)-i)
			return
		}
	}
}

// roundColumns fills a column for each round from the records that belong to it.
func roundColumns(t *trace.Trace) []column {
	columns := make([]column, len(t.Rounds))
	for i, r := range t.Rounds {
		c := &columns[i]
		c.head = []string{fmt.Sprintf("%d %s", r.Number, plain.Clean(r.Name))}
		c.phase = r.Phase
		c.cells = make([][]string, t.Header.Nodes)
		for n := range c.cells {
			if !r.Kernel.Has(trace.Node(n + 1)) {
				c.cells[n] = []string{isolatedMark}
			}
		}
	}
	states := make([]string, t.Header.Nodes)
	arrows := map[trace.ID]trace.Sent{}
	for i := range t.Records {
		rec := &t.Records[i]
		for _, m := range rec.Sent {
			arrows[m.ID] = m
		}
		var c *column
		if rec.Round > 0 && rec.Round <= len(columns) {
			c = &columns[rec.Round-1]
			c.add(rec, arrows)
			c.fail = c.fail || t.Outcome.Finding != nil && t.Outcome.Finding.Step == rec.Number
		}
		for _, s := range rec.States {
			if c != nil {
				c.cells[s.Node-1] = append(c.cells[s.Node-1], changes(states[s.Node-1], s.Text)...)
			}
			states[s.Node-1] = s.Text
		}
		for _, e := range rec.Events {
			if c != nil && e.Node > 0 {
				c.cells[e.Node-1] = append(c.cells[e.Node-1], strings.TrimSpace("^ "+plain.Clean(e.Type)+" "+plain.Clean(e.Text)))
			}
		}
	}
	for i := range columns {
		columns[i].finish()
	}
	return columns
}

const isolatedMark = "~isolated~"

// add notes the step itself in the column.
func (c *column) add(rec *trace.Record, arrows map[trace.ID]trace.Sent) {
	switch rec.Step.Kind {
	case trace.Deliver, trace.Drop:
		m := arrows[rec.Step.Msg]
		row := footDelivered
		if rec.Step.Kind == trace.Drop {
			row = footLost
		}
		c.foot[row] = addArrow(c.foot[row], m)
	case trace.Start, trace.Alarm, trace.Wait:
	case trace.Cut, trace.Heal:
		c.foot[footLinks] = append(c.foot[footLinks], plain.Clean(rec.Text))
	default:
		n := max(rec.Step.Node, 1)
		c.cells[n-1] = append(c.cells[n-1], "! "+plain.Clean(rec.Text))
	}
	for _, id := range rec.Gone {
		c.foot[footLost] = addArrow(c.foot[footLost], arrows[id])
	}
}

// addArrow joins messages of one sender and type: "1>2,3 Prepare".
func addArrow(list []string, m trace.Sent) []string {
	from, kind := fmt.Sprintf("%d>", m.From), " "+plain.Clean(m.Type)
	for i, line := range list {
		if strings.HasPrefix(line, from) && strings.HasSuffix(line, kind) {
			list[i] = fmt.Sprintf("%s,%d%s", strings.TrimSuffix(line, kind), m.To, kind)
			return list
		}
	}
	return append(list, fmt.Sprintf("%s%d%s", from, m.To, kind))
}

func (c *column) finish() {
	for n := range c.cells {
		c.cells[n] = latest(c.cells[n])
	}
}

// latest keeps the last of several values of one key: a cell shows how a round ended.
func latest(lines []string) []string {
	var kept []string
	for i, line := range lines {
		key, _, isField := strings.Cut(line, "=")
		superseded := false
		for _, later := range lines[i+1:] {
			if laterKey, _, ok := strings.Cut(later, "="); isField && ok && laterKey == key {
				superseded = true
			}
		}
		if !superseded {
			kept = append(kept, line)
		}
	}
	return kept
}

// changes lists the fields of a state that changed, or the whole state where it is not
// made of key=value fields.
func changes(was, is string) []string {
	old := map[string]bool{}
	for _, f := range strings.Fields(was) {
		old[f] = true
	}
	var changed []string
	for _, f := range strings.Fields(plain.Clean(is)) {
		if !old[f] {
			changed = append(changed, f)
		}
	}
	return changed
}

// quietRound reports whether nothing but isolation happened in the column.
func (c *column) quietRound() bool {
	for _, cell := range c.cells {
		for _, line := range cell {
			if line != isolatedMark {
				return false
			}
		}
	}
	return len(slices.Concat(c.foot[:]...)) == 0 && !c.fail
}

// collapse joins neighbouring quiet rounds of one phase.
func collapse(columns []column) []column {
	var out []column
	for _, c := range columns {
		if c.quietRound() {
			c.quiet = 1
			if k := len(out) - 1; k >= 0 && out[k].quiet > 0 && out[k].phase == c.phase {
				out[k].quiet++
				out[k].head = []string{fmt.Sprintf("%d quiet", out[k].quiet)}
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// title names the phase of the column.
func (c *column) title() string { return fmt.Sprintf("phase %d", c.phase) }

func (c *column) width() int {
	w := runes(c.title())
	for _, line := range c.head {
		w = max(w, runes(line))
	}
	for _, cell := range c.cells {
		for _, line := range cell {
			w = max(w, runes(line))
		}
	}
	for _, row := range c.foot {
		for _, line := range row {
			w = max(w, runes(line))
		}
	}
	return min(w, maxCell)
}
