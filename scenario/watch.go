package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Explain makes the first run of a plan and writes one line for each moment, with the reactions of machines and
// filters. The first moment of a step carries its number. The plan's scenario must be one of this package.
func Explain(ctx context.Context, plan lockstep.Plan, out io.Writer) error {
	return ExplainRun(ctx, plan, 0, out)
}

// ExplainRun is Explain for the run with the given number.
func ExplainRun(ctx context.Context, plan lockstep.Plan, run int, out io.Writer) error {
	s, err := own(plan.Scenario)
	if err != nil {
		return err
	}
	w := &watch{}
	c := *s
	c.watch = w
	plan.Scenario = &c
	b, err := lockstep.NewRunner(plan)
	if err != nil {
		return err
	}
	outcome, err := b.Run(ctx, run, nil)
	if err = errors.Join(err, b.Close()); err != nil {
		return err
	}
	w.endLine()
	fmt.Fprintf(&w.text, "verdict %s\n", outcome.Verdict)
	if outcome.Reason != "" {
		fmt.Fprintln(&w.text, outcome.Reason)
	}
	if outcome.Finding != nil {
		fmt.Fprintf(&w.text, "%s\n", outcome.Finding)
	}
	for _, c := range w.director.count() {
		if c.N == 0 && !c.Optional {
			fmt.Fprintf(&w.text, "never: %s\n", c.Name)
		}
	}
	_, err = io.WriteString(out, w.text.String())
	return err
}

// watch writes the actions of a director to a text; nil writes nothing.
type watch struct {
	text  strings.Builder
	begun int
	steps int
	open  bool // a line has begun

	director *director
}

// begin opens a run. A failing run is rerun with the recorder on, which is not written down a second time.
func (w *watch) begin(d *director) {
	if w == nil {
		return
	}
	w.begun++
	w.director = d
	w.steps = -1
	if texts := d.drawnText(); w.begun == 1 && len(texts) > 0 {
		fmt.Fprintf(&w.text, "drawn: %s\n", strings.Join(texts, " "))
	}
}

func (w *watch) off() bool { return w == nil || w.begun > 1 }

// moment begins a line: the number of the step, if it is new, and the moment.
func (w *watch) moment(m *Moment) {
	if w.off() {
		return
	}
	w.endLine()
	w.open = true
	number := ""
	if w.steps != m.Run.Steps() {
		w.steps = m.Run.Steps()
		number = fmt.Sprint(w.steps)
	}
	fmt.Fprintf(&w.text, "%3s %s", number, m)
}

func (w *watch) endLine() {
	if w.open {
		w.text.WriteByte('\n')
	}
	w.open = false
}

// note adds a reaction to the moment to the line.
func (w *watch) note(format string, args ...any) {
	if !w.off() {
		fmt.Fprintf(&w.text, " | "+format, args...)
	}
}

func (w *watch) entered(m *readyMachine, s *State) { w.note("machine %s: %s", m.name, s.name) }

func (w *watch) released(m *Moment, id trace.ID) {
	if !w.off() {
		w.note("released %s", m.Run.Message(id))
	}
}

func (w *watch) took(f *readyFilter, acted bool) {
	if w.off() { // before texts are rendered
		return
	}
	effect := ""
	if !acted {
		effect = " (no effect)"
	}
	w.note("%s: %s%s", f.title(), f.does(), effect)
}
