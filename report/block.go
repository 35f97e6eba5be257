package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// maxCell is the widest that a cell gets; longer lines are cut.
const maxCell = 28

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

// drawRow draws one row of cells, as many lines high as its highest cell.
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
			if strings.HasPrefix(text, isolatedMark) {
				text = o.dim(text)
			} else if columns[i].fail && strings.HasPrefix(text, "^") {
				text = o.red(text)
			}
			line += " | " + text
		}
		writeLine(b, line)
	}
}

// mayBeQuiet are the kinds of step that are worth a line only when they cause something.
var mayBeQuiet = trace.KindsOf(trace.Deliver, trace.Drop, trace.Alarm, trace.Wait)

// drawSteps draws a run that is not in rounds, one step a line. Steps that changed
// nothing are counted, not shown.
func drawSteps(b *strings.Builder, t *trace.Trace, o Options) {
	states := make([]string, t.Header.Nodes)
	arrows := map[trace.ID]trace.Sent{}
	quiet := 0
	flush := func() {
		if quiet > 0 {
			fmt.Fprintf(b, "       ... %d steps that changed nothing\n", quiet)
			quiet = 0
		}
	}
	for i := range t.Records {
		rec := &t.Records[i]
		var effects []string
		for _, s := range rec.States {
			if rec.Step.Kind != trace.Start {
				effects = append(effects, fmt.Sprintf("%d: %s", s.Node, strings.Join(changes(states[s.Node-1], s.Text), " ")))
			}
			states[s.Node-1] = s.Text
		}
		for _, m := range rec.Sent {
			arrows[m.ID] = m
		}
		for _, id := range rec.Gone {
			effects = append(effects, "loses "+plain.Clean(arrows[id].Message.String()))
		}
		for _, e := range rec.Events {
			effects = append(effects, fmt.Sprintf("^ %d %s %s", e.Node, plain.Clean(e.Type), plain.Clean(e.Text)))
		}
		failed := t.Outcome.Finding != nil && t.Outcome.Finding.Step == rec.Number
		if rec.Step.Kind == trace.Start {
			continue
		}
		if len(effects)+len(rec.Sent) == 0 && !failed && mayBeQuiet.Has(rec.Step.Kind) {
			quiet++
			continue
		}
		flush()
		drawStep(b, rec, effects, failed, o)
	}
	flush()
	b.WriteByte('\n')
}

func drawStep(b *strings.Builder, rec *trace.Record, effects []string, failed bool, o Options) {
	var sends []string
	for _, m := range rec.Sent {
		sends = addArrow(sends, m)
	}
	what := pad(rec.Step.Kind.String(), 9) + " " + pad(plain.Clean(rec.Text), 34)
	line := fmt.Sprintf("%5d  %s  %s", rec.Number, what, strings.Join(effects, "; "))
	if len(sends) > 0 {
		line += "  sends " + strings.Join(sends, " ")
	}
	line = plain.Cut(strings.TrimRight(line, " "), o.width())
	if failed {
		line = o.red(line)
	}
	b.WriteString(line + "\n")
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

// pad makes a text exactly so many columns wide.
func pad(s string, width int) string {
	s = plain.Cut(s, width)
	return s + strings.Repeat(" ", max(0, width-runes(s)))
}

// writeLine writes a line without the blanks at its end.
func writeLine(b *strings.Builder, line string) {
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
