package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// drawTimeline writes the timeline of a run as lines of text. It counts the log lines of servers, and what happened
// after everything on which the finding depends.
func drawTimeline(b *strings.Builder, t *trace.Trace, o Options) {
	line := newDrawing(t, PageOptions{MaxText: maxLineText}.complete()).timeline()
	if line.Omitted > 0 {
		fmt.Fprintf(b, "           ... the first %s are left out\n", words.Count(line.Omitted, "row"))
	}
	aside := 0
	flush := func() {
		if aside > 0 {
			fmt.Fprintf(b, "           ... %s on which the finding does not depend\n", words.Count(aside, "row"))
		}
		aside = 0
	}
	for i := range line.Rows {
		m := &line.Rows[i]
		if m.Is(rowLog) {
			continue
		}
		if line.end >= 0 && !m.Past {
			aside++
			continue
		}
		flush()
		b.WriteString(m.text(o))
	}
	flush()
	b.WriteByte('\n')
	if line.end >= 0 {
		b.WriteString("* the finding is about this step; ! a value that the finding names\n\n")
	}
}

// maxLineText bounds a text of a timeline on the console.
const maxLineText = 300

// text returns a row as one line, or as several if it is long.
func (m *moment) text(o Options) string {
	if m.Summary() {
		return o.dim(fmt.Sprintf("%11s  ... %s", "", m.sum())) + "\n"
	}
	mark := " "
	switch {
	case m.Class != "":
		mark = "*"
	case m.Mentions:
		mark = "!"
	}
	node := ""
	if m.Node != 0 {
		node = fmt.Sprint("node ", m.Node)
	}
	head := fmt.Sprintf("%10s %s %-8s %-7s ", m.Time, mark, m.Type, node)
	line := strings.Join(plain.Wrap(head+m.Text, o.width(), runes(head), maxLines), "\n")
	if m.Type == rowFinding {
		line = o.red(line)
	}
	return line + "\n"
}

// sum is the text of a row that sums up steps.
func (m *moment) sum() string {
	text := m.Text
	if m.Logs > 0 {
		if text != "" {
			text += "; "
		}
		text += words.Count(m.Logs, "line logged")
	}
	return text
}

// Markdown writes a run for a bug report: the finding, how the run differs from the nearest run that passes, the values
// that the finding is about, and the timeline or the steps.
func Markdown(w io.Writer, t *trace.Trace, o PageOptions) error {
	o = o.complete()
	var b strings.Builder
	h := &t.Header
	if f := t.Outcome.Finding; f != nil {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", cell(plain.Clean(f.Property)), cell(plain.Clean(f.Text)))
	} else {
		fmt.Fprintf(&b, "## %s\n\n", t.Outcome.Verdict)
	}
	fmt.Fprintf(&b, "%s\n\n", cell(subtitle(*h)))
	for _, line := range o.Why {
		fmt.Fprintf(&b, "- %s\n", cell(plain.Clean(line)))
	}
	if len(o.Why) > 0 {
		b.WriteByte('\n')
	}
	if o.Replay != "" {
		fmt.Fprintf(&b, "    %s\n\n", plain.Clean(o.Replay))
	}
	drawn := newDrawing(t, o)
	if v := drawn.values(); v != nil {
		v.markdown(&b)
	}
	line := drawn.timeline()
	if line == nil {
		b.WriteString("```\n")
		newStepList(&b, t, Options{}).draw()
		b.WriteString("```\n")
	} else {
		line.markdown(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *timeline) markdown(b *strings.Builder) {
	b.WriteString("| time | node | type | what |\n|---|---|---|---|\n")
	for i := range t.Rows {
		m := &t.Rows[i]
		node := ""
		if m.Node != 0 {
			node = fmt.Sprint(m.Node)
		}
		switch {
		case m.Is(rowLog), t.end >= 0 && !m.Past:
		case m.Summary():
			fmt.Fprintf(b, "| | | | *%s* |\n", cell(m.sum()))
		case m.Type == rowFinding:
			fmt.Fprintf(b, "| %s | | **finding** | **%s** |\n", m.Time, cell(m.Text))
		default:
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", m.Time, node, m.Type, cell(m.Text))
		}
	}
}

// cell returns a text for a cell of a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;", "`", "\\`").Replace(text)
}
