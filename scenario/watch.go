package scenario

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
)

// Explain makes the first run of a plan and writes down, a line for each moment, what
// machines and filters made of it; the first moment of a step carries its number. The
// plan's scenario must be one of this package.
func Explain(ctx context.Context, plan lockstep.Plan, out io.Writer) error {
	s, err := own(plan.Scenario)
	if err != nil {
		return err
	}
	w := &watch{}
	c := *s
	c.watch = w
	plan.Scenario, plan.Runs, plan.Workers, plan.KeepGoing = &c, 1, 1, true
	plan.Keep = 1
	result, err := lockstep.Explore(ctx, plan)
	if err != nil {
		return err
	}
	w.endLine()
	fmt.Fprintf(&w.text, "verdict %s\n", result.Verdict())
	for _, reason := range slices.Sorted(maps.Keys(result.Reasons)) {
		fmt.Fprintln(&w.text, reason)
	}
	if f := result.First(); f != nil {
		fmt.Fprintf(&w.text, "%s\n", f.Finding)
	}
	for _, part := range result.VacuousParts() {
		fmt.Fprintf(&w.text, "never: %s\n", part)
	}
	_, err = io.WriteString(out, w.text.String())
	return err
}

// watch writes down what a director does; nil writes nothing.
type watch struct {
	text  strings.Builder
	begun int
	steps int
	open  bool // a line is begun
}

// begin opens a run. A failing run is made again with the recorder on, which is not
// written down a second time.
func (w *watch) begin(d *director) {
	if w == nil {
		return
	}
	w.begun++
	w.steps = -1
	if texts := d.drawnText(); w.begun == 1 && len(texts) > 0 {
		fmt.Fprintf(&w.text, "drawn: %s\n", strings.Join(texts, " "))
	}
}

func (w *watch) off() bool { return w == nil || w.begun > 1 }

// moment begins a line: the number of the step, where it is new, and the moment.
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

// note adds to the line what was made of the moment.
func (w *watch) note(format string, args ...any) {
	if !w.off() {
		fmt.Fprintf(&w.text, " | "+format, args...)
	}
}

func (w *watch) entered(m *readyMachine, s *State) { w.note("machine %s: %s", m.name, s.name) }

func (w *watch) released(m *Moment, id lockstep.ID) {
	if !w.off() {
		w.note("released %s", m.Run.Message(id))
	}
}

func (w *watch) took(f *readyFilter, acted bool) {
	if w.off() { // before anything is put into words
		return
	}
	effect := ""
	if !acted {
		effect = " (no effect)"
	}
	w.note("%s: %s%s", f.title(), f.does(), effect)
}
