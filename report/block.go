package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// maxLines bounds the lines of one text; the rest of it is cut.
const maxLines = 40

// drawBlock draws as many columns as fit side by side.
func drawBlock(b *strings.Builder, columns []column, names []string, label int, o Options) {
	line, phase := pad("", label), 0
	for _, c := range columns {
		title := ""
		if c.phase != phase {
			title = c.title()
			phase = c.phase
		}
		line += " | " + pad(title, c.width())
	}
	writeLine(b, line)
	drawRow(b, "round", label, columns, o, func(c *column) []string { return c.head })
	drawRule(b, label, columns)
	for n, name := range names {
		drawRow(b, name, label, columns, o, func(c *column) []string { return c.cells[n] })
	}
	drawRule(b, label, columns)
	for row, name := range footNames {
		drawRow(b, name, label, columns, o, func(c *column) []string { return c.foot[row] })
	}
}

func drawRule(b *strings.Builder, label int, columns []column) {
	b.WriteString(strings.Repeat("-", label))
	for _, c := range columns {
		b.WriteString("-+-" + strings.Repeat("-", c.width()))
	}
	b.WriteByte('\n')
}

// drawRow draws one row of cells. Its height is that of its highest cell.
func drawRow(b *strings.Builder, name string, label int, columns []column, o Options, cell func(*column) []string) {
	height := 0
	for i := range columns {
		height = max(height, len(cell(&columns[i])))
	}
	if height == 0 && name != "" && !strings.HasPrefix(name, "node") {
		return
	}
	for k := range max(height, 1) {
		if k > 0 {
			name = ""
		}
		line := pad(name, label)
		for i := range columns {
			text := ""
			if lines := cell(&columns[i]); k < len(lines) {
				text = lines[k]
			}
			text = pad(text, columns[i].width())
			if isMark(strings.TrimRight(text, " ")) {
				text = o.dim(text)
			} else if strings.HasPrefix(text, "* ") {
				text = o.red(text)
			}
			line += " | " + text
		}
		writeLine(b, line)
	}
}

// mayBeOmitted are the kinds of step that get a line only if they have an effect.
var mayBeOmitted = trace.KindsOf(trace.Deliver, trace.Drop, trace.Timer, trace.Wait)

// stepList draws a run that is not in rounds, one step per line.
type stepList struct {
	b         *strings.Builder
	trace     *trace.Trace
	o         Options
	states    []string
	arrows    map[trace.ID]trace.Sent
	stars     []int
	past      map[int]bool
	out       []outage // nil: no node is ever out
	unchanged []string // deferred lines of steps that changed nothing
}

// maxSigns is the largest number of nodes with which lines show the nodes that are down or cut off.
const maxSigns = 16

func newStepList(b *strings.Builder, t *trace.Trace, o Options) *stepList {
	l := &stepList{
		b:      b,
		trace:  t,
		o:      o,
		states: make([]string, t.Header.Nodes),
		arrows: map[trace.ID]trace.Sent{},
		stars:  about(t),
	}
	l.past = pastOf(t, l.stars)
	if out := outages(t); anyOut(out) && t.Header.Nodes <= maxSigns {
		l.out = out
	}
	return l
}

func (l *stepList) draw() {
	for i := range l.trace.Records {
		rec := &l.trace.Records[i]
		effects := l.effects(rec)
		if rec.Step.Kind == trace.Start {
			continue
		}
		line := l.line(i, effects)
		unchanged := len(effects)+len(rec.Sent) == 0 && !contains(l.stars, i) && mayBeOmitted.Has(rec.Step.Kind)
		// Every step of a shrunk run matters, except fair steps, which the strategy did not choose.
		if unchanged &&
			(l.trace.Header.Shrunk == "" || rec.Settle) {
			l.unchanged = append(l.unchanged, line)
			continue
		}
		l.flush()
		l.b.WriteString(line)
	}
	l.flush()
	l.b.WriteByte('\n')
	l.legend()
}

// flush writes the deferred lines: a single step as it is, several as their number.
func (l *stepList) flush() {
	switch len(l.unchanged) {
	case 0:
	case 1:
		l.b.WriteString(l.unchanged[0])
	default:
		fmt.Fprintf(l.b, "       ... %d steps that changed nothing\n", len(l.unchanged))
	}
	l.unchanged = nil
}

// legend explains the signs used.
func (l *stepList) legend() {
	var parts []string
	if len(l.stars) > 0 {
		parts = append(parts, "* the finding is about this step", ": its causal past")
	}
	if l.out != nil {
		parts = append(parts, "a sign for each node: x down, ~ cut off from a majority")
	}
	if len(parts) > 0 {
		l.b.WriteString(strings.Join(plain.Wrap(strings.Join(parts, "; "), l.o.width(), 2, maxLines), "\n") + "\n\n")
	}
}

// effects returns the effects of a record as text. It keeps track of states and messages.
func (l *stepList) effects(rec *trace.Record) []string {
	var effects []string
	for _, s := range rec.States {
		if rec.Step.Kind != trace.Start {
			effects = append(effects,
				fmt.Sprintf("%d: %s", s.Node, strings.Join(changes(l.states[s.Node-1], s.Text), " ")))
		}
		l.states[s.Node-1] = s.Text
	}
	for _, m := range rec.Sent {
		l.arrows[m.ID] = m
	}
	for _, id := range rec.Gone {
		effects = append(effects, "loses "+plain.Clean(l.arrows[id].Message.String()))
	}
	for _, e := range rec.Events {
		effects = append(effects, fmt.Sprintf("^ %d %s %s", e.Node, plain.Clean(e.Type), plain.Clean(e.Text)))
	}
	return effects
}

// line returns a record in one line, or in several if it is too long. Texts are never cut before the field that
// matters.
func (l *stepList) line(i int, effects []string) string {
	rec := &l.trace.Records[i]
	var sends []string
	for _, m := range rec.Sent {
		sends = addArrow(sends, m)
	}
	mark := " "
	star := contains(l.stars, i)
	switch {
	case star:
		mark = "*"
	case l.past[i]:
		mark = ":"
	}
	line := fmt.Sprintf("%5d%s ", rec.Number, mark)
	if l.out != nil {
		line += l.out[i].signs(l.trace.Header.Nodes) + " "
	}
	line += pad(rec.Step.Kind.String(), 9) + " "
	indent := min(runes(line), l.o.width()/2)
	text := plain.Clean(rec.Text)
	if rec.Step.Kind == trace.Wait {
		text = lasts(rec.Step)
	}
	line += text + strings.Repeat(" ", max(0, 34-runes(text))) + "  " + strings.Join(effects, "; ")
	if len(sends) > 0 {
		line += "  sends " + strings.Join(sends, " ")
	}
	line = strings.Join(plain.Wrap(line, l.o.width(), indent, maxLines), "\n")
	if star {
		line = l.o.red(line)
	}
	return line + "\n"
}

const dim = "\x1b[2m"

func (o Options) red(text string) string { return plain.Red(o.Color, text) }

func (o Options) dim(text string) string {
	if !o.Color {
		return text
	}
	return dim + text + "\x1b[0m"
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// pad makes a text exactly this number of columns wide.
func pad(s string, width int) string {
	s = plain.Cut(s, width)
	return s + strings.Repeat(" ", max(0, width-runes(s)))
}

// writeLine writes a line without trailing blanks.
func writeLine(b *strings.Builder, line string) {
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
