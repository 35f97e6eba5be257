package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// view lists what scenarios and specs can see of a target's runs.
type view struct {
	Messages []sort   `json:"messages"`
	Events   []sort   `json:"events"`
	Requests []string `json:"requests,omitempty"`
}

// sort is a type of message or event. Value is the Go type of its content. Example is a value as text, if a short run
// had one.
type sort struct {
	Type    string `json:"type"`
	Value   string `json:"value,omitempty"`
	Example string `json:"example,omitempty"`
}

// lookRuns and lookSteps bound the runs from which examples are taken.
const (
	lookRuns  = 3
	lookSteps = 600
)

// detail adds a target's properties, its scenarios, an example, and the types of its messages and events. The types
// come from the target's declarations and from a few short runs.
func (e *Env) detail(l *listed) error {
	t, err := target.Find(e.app.Targets, l.Name)
	if err != nil {
		return err
	}
	if t.Spec != nil {
		l.Properties = t.Spec.Properties()
	}
	for _, s := range t.Scenarios {
		l.Scenarios = append(l.Scenarios, guideline{s.Name, s.Help, s.Set})
	}
	system, err := t.Build(nil)
	if err != nil {
		return err
	}
	if info, err := system.Describe(); err == nil { // otherwise it needs options, and there is no run to observe
		l.Example = fmt.Sprintf("lockstep run %s --for 1m --seed 1", l.Name)
		return e.observe(l, system, info)
	}
	return nil
}

// observe adds what a system declares and what a few short runs of it contain.
func (e *Env) observe(l *listed, system lockstep.System, info lockstep.Info) error {
	s := &view{Requests: info.Requests}
	for _, name := range info.Types {
		s.Messages = append(s.Messages, sort{Type: name})
	}
	for _, name := range info.Events {
		s.Events = append(s.Events, sort{Type: name})
	}
	l.Seen = s
	if info.Determinism == lockstep.BestEffort || info.Serial { // one run may take long
		return nil
	}
	_, err := lockstep.Explore(
		e.Ctx,
		lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Runs: lookRuns, Steps: lookSteps, Workers: 1,
			KeepGoing: true, Observers: []lockstep.Observer{s}},
	)
	if err != nil && e.Ctx.Err() == nil { // the declared types are available even so
		fmt.Fprintln(e.Err, "lockstep: no examples:", joinLines(err.Error()))
		return nil
	}
	if l.Shapes, err = e.shapesOf(system, info); err != nil && e.Ctx.Err() == nil {
		fmt.Fprintln(e.Err, "lockstep: no rounds:", joinLines(err.Error()))
	}
	return context.Cause(e.Ctx)
}

// New returns a watcher.
func (v *view) New(lockstep.Info) lockstep.Watcher { return &looker{} }

// Take adds the observations of a run.
func (v *view) Collect(_ int, noted any) {
	n := noted.(*view)
	v.Messages, v.Events = merge(v.Messages, n.Messages), merge(v.Events, n.Events)
}

// merge adds the types of the second list to the first.
func merge(list, more []sort) []sort {
	for _, m := range more {
		i := slices.IndexFunc(list, func(x sort) bool { return x.Type == m.Type })
		if i < 0 {
			list = append(list, m)
		} else if list[i].Value == "" {
			list[i] = m
		}
	}
	return list
}

// looker notes the first message and event of each type of a run.
type looker struct{ noted *view }

// Reset begins a new run.
func (l *looker) Reset() { l.noted = &view{} }

// Look notes types of messages and events that are new.
func (l *looker) Observe(run *lockstep.Run) {
	for i := range run.Sent() {
		m := &run.Sent()[i]
		l.noted.Messages = note(l.noted.Messages, m.Type, func() any { return run.Body(m.ID) })
	}
	for i := range run.Events() {
		l.noted.Events = note(l.noted.Events, run.Events()[i].Type, func() any { return run.Events()[i].Value })
	}
}

// note adds a type that is new, with an example value.
func note(list []sort, kind string, value func() any) []sort {
	if slices.ContainsFunc(list, func(x sort) bool { return x.Type == kind }) {
		return list
	}
	x := sort{Type: kind}
	if v := value(); v != nil {
		x.Value, x.Example = fmt.Sprintf("%T", v), short(fmt.Sprint(v))
	}
	return append(list, x)
}

// short returns the beginning of a text, as one line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return text
}

// Noted returns the observations of the run.
func (l *looker) Noted() any { return l.noted }

// writeDetail writes properties, scenarios, types and the example.
func (l *listed) writeDetail(w io.Writer) {
	if len(l.Properties) > 0 {
		fmt.Fprintln(w, "    Properties:")
		writeWrapped(w, l.Properties)
	}
	l.writeSeen(w)
	if l.Example != "" {
		fmt.Fprintf(w, "    Example:\n      %s\n", l.Example)
	}
}

// listColumns is the width of lines with names.
const listColumns = 100

// writeWrapped writes names, as many on a line as fit.
func writeWrapped(w io.Writer, names []string) {
	line := "     "
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if len(line)+1+len(name) > listColumns {
			fmt.Fprintln(w, line)
			line = "     "
		}
		line += " " + name
	}
	fmt.Fprintln(w, line)
}

// writeSeen writes scenarios and types.
func (l *listed) writeSeen(w io.Writer) {
	if len(l.Scenarios) > 0 {
		fmt.Fprintln(w, "    Scenarios (--scenario NAME):")
	}
	for _, s := range l.Scenarios {
		fmt.Fprintf(w, "      %-14s %s\n", s.Name, s.Help)
	}
	if l.Seen == nil {
		return
	}
	writeSorts(w, "Messages: type, Go type of the content, an example", l.Seen.Messages)
	writeSorts(w, "Events: type, Go type of the value, an example", l.Seen.Events)
	if len(l.Seen.Requests) > 0 {
		fmt.Fprintf(w, "    Requests: %s\n", strings.Join(l.Seen.Requests, ", "))
	}
	if l.Shapes != nil {
		l.Shapes.write(w)
	}
}

func writeSorts(w io.Writer, title string, list []sort) {
	if len(list) > 0 {
		fmt.Fprintf(w, "    %s:\n", title)
	}
	for _, x := range list {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("      %-18s %-24s %s", x.Type, x.Value, x.Example), " "))
	}
}
