package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// Text writes the steps of a run with the events and log lines of each, one per line, and the run's verdict.
func Text(w io.Writer, t *trace.Trace) error {
	b := bufio.NewWriter(w)
	line := func(indent string, parts ...string) {
		fmt.Fprintln(b, indent+plain.Clean(strings.Join(parts, "")))
	}
	h := &t.Header
	line("", fmt.Sprintf("%s, %d nodes, %s, seed %d, run %d", h.Target, h.Nodes, h.Strategy, h.Seed, h.Run))
	for i := range t.Records {
		r := &t.Records[i]
		stage := ""
		if r.Settle {
			stage = " (settling)"
		}
		line("", fmt.Sprintf("step %d%s: ", r.Number, stage), r.Step.String(), after(": ", textOf(t, r)))
		for _, e := range r.Events {
			by := ""
			if e.Node != 0 {
				by = fmt.Sprintf("node %d ", e.Node)
			}
			line("  ", by, e.Type, after(": ", e.Text))
		}
		for _, l := range r.Logs {
			line("  ", fmt.Sprintf("node %d ", l.Node), l.Source, after(" ", l.Level), after(": ", l.Text))
		}
	}
	verdict := strings.ToUpper(string(t.Outcome.Verdict))
	if f := t.Outcome.Finding; f != nil {
		line("", verdict, fmt.Sprintf(" %s at step %d: %s", f.Property, f.Step, f.Text))
	} else {
		line("", verdict, after(": ", t.Outcome.Reason))
	}
	return b.Flush()
}

// textOf returns the subject of a step as text: the message that it delivered or dropped, or the step's own text.
func textOf(t *trace.Trace, r *trace.Record) string {
	if r.Text != "" || r.Step.Msg == 0 {
		return r.Text
	}
	m, _ := t.Message(r.Step.Msg)
	return m.Text
}

// after puts a separator before a text that is not empty.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}
