package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// Options of the text pictures.
type Options struct {
	// Width is the number of columns to fit into, at least 40; 0 means 100. Long texts continue on the next line, and
	// wide pictures have wider cells.
	Width int
	// Color marks findings and isolated nodes with terminal colors.
	Color bool
	// Steps draws every step of a run in time, instead of its timeline.
	Steps bool
}

func (o Options) width() int {
	if o.Width <= 0 {
		return 100
	}
	return max(o.Width, 40)
}

// cell returns the largest width of a cell; longer lines are broken.
func (o Options) cell() int { return max(28, o.width()/4) }

// Grid draws a recorded run: its heading, the rounds or steps, and the finding. It shows every step of a shrunk run. In
// other runs it counts consecutive steps that changed nothing. A star marks the records of the finding. A colon marks
// its causal past or, in rounds, a line below.
func Grid(w io.Writer, t *trace.Trace, o Options) error {
	var b strings.Builder
	heading(&b, t)
	switch {
	case len(t.Rounds) > 0:
		drawRounds(&b, t, o)
	case timed(t) && !o.Steps:
		drawTimeline(&b, t, o)
	default:
		newStepList(&b, t, o).draw()
	}
	closing(&b, t, o)
	_, err := io.WriteString(w, b.String())
	return err
}

func heading(b *strings.Builder, t *trace.Trace) {
	h := t.Header
	fmt.Fprintf(b, "%s, %s, %s, seed %d, run %d\n", plain.Clean(h.Target), words.Count(h.Nodes, "node"),
		plain.Clean(h.Strategy), h.Seed, h.Run)
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
		fmt.Fprintf(b, "%s after %s: %s\n", strings.ToUpper(string(out.Verdict)), words.Count(out.Steps, "step"),
			plain.Clean(out.Reason))
	default:
		fmt.Fprintf(b, "%s after %s\n", strings.ToUpper(string(out.Verdict)), words.Count(out.Steps, "step"))
	}
}

// column is a round, or a sequence of idle rounds, as the grid shows it.
type column struct {
	head  []string
	cells [][]string // by node-1
	foot  [3][]string
	idle  int // number of collapsed rounds
	first int // the number of the first one
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
	columns := roundColumns(t, o)
	if t.Header.Shrunk == "" {
		columns = collapse(columns)
	}
	joined := slices.ContainsFunc(columns, func(c column) bool { return c.idle > 1 })
	others := slices.ContainsFunc(columns, column.otherEvents)
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
	if joined {
		b.WriteString("idle: nothing arrived, was lost or changed in these rounds\n\n")
	}
	drawSettling(b, t)
	drawPast(b, t, o, others)
}

// drawPast prints the rounds with the causal past of the finding, and explains the sign of other events if there are
// any.
func drawPast(b *strings.Builder, t *trace.Trace, o Options, others bool) {
	stars := about(t)
	if len(stars) == 0 {
		return
	}
	in := map[int]bool{}
	for i := range pastOf(t, stars) {
		in[t.Records[i].Round] = true
	}
	var parts []string
	count := 0
	for first := 1; first <= len(t.Rounds); first++ {
		last := first
		for in[first] && in[last+1] {
			last++
		}
		switch {
		case !in[first]:
			continue
		case last == first:
			parts = append(parts, fmt.Sprint(first))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", first, last))
		}
		count += last - first + 1
		first = last
	}
	if len(parts) > 0 {
		text := fmt.Sprintf("* is the finding, which depends on steps in %s %s", words.Plural(count, "round"),
			strings.Join(parts, ", "))
		if others {
			text += "; " + otherSign + "is another event"
		}
		b.WriteString(strings.Join(plain.Wrap(text, o.width(), 2, maxLines), "\n") + "\n\n")
	}
}

func drawSettling(b *strings.Builder, t *trace.Trace) {
	for i := range t.Records {
		if t.Records[i].Settle {
			fmt.Fprintf(b, "then %s of settling\n\n", words.Count(len(t.Records)-i, "step"))
			return
		}
	}
}

// roundColumns fills a column for each round from the records of that round.
func roundColumns(t *trace.Trace, o Options) []column {
	columns := make([]column, len(t.Rounds))
	stars := about(t)
	for i, r := range t.Rounds {
		c := &columns[i]
		c.first, c.head = r.Number, []string{fmt.Sprintf("%d %s", r.Number, plain.Clean(r.Name))}
		c.phase = r.Phase
		c.cells = make([][]string, t.Header.Nodes)
		for n := range c.cells {
			if !r.Kernel.Has(trace.Node(n + 1)) {
				c.cells[n] = []string{isolatedMark}
			}
		}
	}
	markOutages(columns, t)
	states := make([]string, t.Header.Nodes)
	arrows := map[trace.ID]trace.Sent{}
	for i := range t.Records {
		rec := &t.Records[i]
		sign := otherSign
		if contains(stars, i) {
			sign = "* "
		}
		for _, m := range rec.Sent {
			arrows[m.ID] = m
		}
		var c *column
		if rec.Round > 0 && rec.Round <= len(columns) {
			c = &columns[rec.Round-1]
			c.add(rec, arrows, t.Header.Shrunk != "")
			c.fail = c.fail || t.Outcome.Finding != nil && t.Outcome.Finding.Step == rec.Number
		}
		for _, s := range rec.States {
			if c != nil {
				c.cells[s.Node-1] = append(c.cells[s.Node-1], changes(states[s.Node-1], s.Text)...)
			}
			states[s.Node-1] = s.Text
		}
		if n := actorOf(rec, arrows); c != nil && n > 0 && len(rec.Events) == 0 && sign == "* " {
			c.cells[n-1] = append(c.cells[n-1], fmt.Sprintf("* step %d", rec.Number))
		}
		for _, e := range rec.Events {
			if c != nil && e.Node > 0 {
				c.cells[e.Node-1] = append(c.cells[e.Node-1],
					strings.TrimSpace(sign+plain.Clean(e.Type)+" "+plain.Clean(e.Text)))
			}
		}
	}
	for i := range columns {
		columns[i].finish(o.cell())
	}
	return columns
}

// actorOf returns the node that acts in a record, or 0.
func actorOf(rec *trace.Record, arrows map[trace.ID]trace.Sent) trace.Node {
	if rec.Step.Kind == trace.Deliver {
		return arrows[rec.Step.Msg].To
	}
	return rec.Step.Node
}

// Marks of nodes that are out in a round.
const (
	isolatedMark = "~isolated~"
	downMark     = "~down~"
	cutMark      = "~cut off~"
)

func isMark(line string) bool { return line == isolatedMark || line == downMark || line == cutMark }

// markOutages marks the nodes that are down or cut off when a round ends.
func markOutages(columns []column, t *trace.Trace) {
	now, last := outages(t), 0
	for i := range columns {
		for k := last; k < len(t.Records) && t.Records[k].Round <= i+1; k++ {
			last = k
		}
		for n := range columns[i].cells {
			cell := &columns[i].cells[n]
			if len(t.Records) == 0 || len(*cell) > 0 {
				continue
			}
			if word := now[last].word(trace.Node(n + 1)); word != "" {
				*cell = []string{"~" + word + "~"}
			}
		}
	}
}

// add notes the step itself in the column. Timers and waiting follow from the rules of rounds; add notes them only if
// every step counts.
func (c *column) add(rec *trace.Record, arrows map[trace.ID]trace.Sent, all bool) {
	switch rec.Step.Kind {
	case trace.Deliver, trace.Drop:
		m := arrows[rec.Step.Msg]
		row := footDelivered
		if rec.Step.Kind == trace.Drop {
			row = footLost
		}
		c.foot[row] = addArrow(c.foot[row], m)
	case trace.Start:
	case trace.Wait:
		if all {
			c.foot[footLinks] = append(c.foot[footLinks], rec.Step.String())
		}
	case trace.Timer:
		if n := int(rec.Step.Node); all && n >= 1 && n <= len(c.cells) {
			c.cells[n-1] = append(c.cells[n-1], "timer")
		}
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

// finish keeps the state at the end of the round and breaks long lines.
func (c *column) finish(width int) {
	c.head = broken(c.head, width)
	for n := range c.cells {
		c.cells[n] = broken(latest(c.cells[n]), width)
	}
	for row := range c.foot {
		c.foot[row] = broken(c.foot[row], width)
	}
}

// broken breaks lines that are too wide.
func broken(lines []string, width int) []string {
	var all []string
	for _, line := range lines {
		all = append(all, plain.Wrap(line, width, 2, maxLines)...)
	}
	return all
}

// latest keeps the last of several values of one key: a cell shows the state at the end of a round.
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

// changes lists the fields of a state that changed, or the whole state if it does not consist of key=value fields.
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

// otherSign marks an event that is not the finding's.
const otherSign = "^ "

// otherEvents reports whether the column has an event that is not the finding's.
func (c column) otherEvents() bool {
	return slices.ContainsFunc(slices.Concat(c.cells...),
		func(line string) bool { return strings.HasPrefix(line, otherSign) })
}

// idleRound reports whether nothing but isolation happened in the column.
func (c *column) idleRound() bool {
	for _, cell := range c.cells {
		for _, line := range cell {
			if !isMark(line) {
				return false
			}
		}
	}
	return len(slices.Concat(c.foot[:]...)) == 0 && !c.fail
}

// collapse joins neighboring idle rounds of one phase.
func collapse(columns []column) []column {
	var out []column
	for _, c := range columns {
		if c.idleRound() {
			c.idle = 1
			if k := len(out) - 1; k >= 0 && out[k].idle > 0 && out[k].phase == c.phase {
				out[k].idle++
				out[k].head = []string{fmt.Sprintf("%d-%d idle", out[k].first, out[k].first+out[k].idle-1)}
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// title returns the name of the column's phase.
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
	return w
}
