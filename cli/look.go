package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/trace"
)

// looked are the flags of replay that show a part of the run.
type looked struct {
	Until int  `placeholder:"STEP" help:"Replay up to this step, and print the states of all nodes after it."`
	Stop  bool `help:"With --until: stop before that step for a debugger. No time of the run passes meanwhile."`
	Log   int  `placeholder:"NODE" help:"Print the log of this node, and what clients and operators asked for there, instead of the run."`
	State int  `placeholder:"NODE" help:"Print how the state of this node changed, and its events, instead of the run."`
}

// check validates the flags against a trace.
func (l *looked) check(t *trace.Trace) error {
	for _, f := range []struct {
		name string
		node int
	}{{"log", l.Log}, {"state", l.State}} {
		if f.node < 0 || f.node > t.Header.Nodes {
			return fmt.Errorf("--%s is %d, allowed are nodes 1..%d", f.name, f.node, t.Header.Nodes)
		}
	}
	switch last := len(t.Records) - 1; {
	case l.Until < 0 || l.Until > last:
		return fmt.Errorf("--until is %d, allowed are steps 1..%d", l.Until, last)
	case l.Stop && l.Until == 0:
		return fmt.Errorf("--stop needs --until STEP: it stops before that step")
	}
	return nil
}

// some reports whether any of the flags is set.
func (l *looked) some() bool { return l.Until > 0 || l.Log > 0 || l.State > 0 }

// show replays the run and prints the part of it.
func (l *looked) show(e *Env, plan lockstep.Plan, t *trace.Trace) error {
	until := l.Until
	if until == 0 {
		until = len(t.Records) - 1
	}
	var stop func()
	if l.Stop {
		stop = func() { l.wait(e, t) }
	}
	again, err := replay.Until(e.Ctx, plan, t, until, stop)
	if err != nil {
		return err
	}
	switch {
	case l.Log > 0:
		printLog(e, again, trace.Node(l.Log))
	case l.State > 0:
		printStates(e, again, trace.Node(l.State))
	default:
		printNodes(e, again)
	}
	was, is := trace.Trace{Records: t.Records[:len(again.Records)]}, trace.Trace{Records: again.Records}
	if d := trace.Difference(&was, &is); d != "" {
		words.Printf(e.Out, "the replay differs from the trace: %s\n", d)
	}
	return nil
}

// wait waits until the user has attached a debugger and continues.
func (l *looked) wait(e *Env, t *trace.Trace) {
	words.Printf(e.Err, "process %s stops before step %d, %s; attach a debugger (dlv attach %s), then press Enter here\n",
		fmt.Sprint(os.Getpid()), l.Until, strings.TrimSpace(t.Records[l.Until].Step.Kind.String()+" "+
			t.Records[l.Until].Text), fmt.Sprint(os.Getpid()))
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // at the end of the input the run continues, too
}

// at is a time of a run as text.
func at(now trace.Time) string { return fmt.Sprintf("%10.3f s", time.Duration(now).Seconds()) }

func printLog(e *Env, t *trace.Trace, n trace.Node) {
	lines := 0
	for i := range t.Records {
		for _, l := range t.Records[i].Logs {
			if l.Node != n {
				continue
			}
			lines++
			level := l.Level
			if level == "" {
				level = l.Source
			}
			words.Printf(e.Out, "%s step %d %s %s\n", at(l.At), t.Records[i].Number, level, l.Text)
		}
	}
	if lines == 0 {
		words.Printf(e.Out, "node %d logged nothing: the target may not collect logs\n", int(n))
	}
}

func printStates(e *Env, t *trace.Trace, n trace.Node) {
	for i := range t.Records {
		r := &t.Records[i]
		for _, s := range r.States {
			if s.Node == n {
				words.Printf(e.Out, "%s step %d %s\n", at(r.Now), r.Number, s.Text)
			}
		}
		for _, v := range r.Events {
			if v.Node == n {
				words.Printf(e.Out, "%s step %d event %s %s\n", at(r.Now), r.Number, v.Type, v.Text)
			}
		}
	}
}

// printNodes prints the last state of each node, and the last step.
func printNodes(e *Env, t *trace.Trace) {
	last := &t.Records[len(t.Records)-1]
	words.Printf(e.Out, "after step %d at %s: %s %s\n", last.Number, strings.TrimSpace(at(last.Now)),
		last.Step.Kind.String(), last.Text)
	states := make([]string, t.Header.Nodes+1)
	for i := range t.Records {
		for _, s := range t.Records[i].States {
			states[s.Node] = s.Text
		}
	}
	for n := 1; n <= t.Header.Nodes; n++ {
		words.Printf(e.Out, "node %d: %s\n", n, states[n])
	}
	for _, v := range last.Events {
		words.Printf(e.Out, "event at node %d: %s %s\n", int(v.Node), v.Type, v.Text)
	}
}

// script writes the draft of a script for a trace whose target this program has.
func (r *replayCmd) script(e *Env, t *trace.Trace) error {
	if err := CheckFiles("script", r.Script); err != nil {
		return err
	}
	at, err := r.place(e, t)
	if err != nil {
		return err
	}
	if at.target.Script == nil {
		return fmt.Errorf("--script: the target %s cannot generate a script", t.Header.Target)
	}
	if err := e.write(r.Script, func(w io.Writer) error {
		_, err := io.WriteString(w, at.target.Script(t))
		return err
	}); err != nil {
		return fmt.Errorf("%s cannot be written: %w", r.Script, err)
	}
	words.Printf(e.Out, "script %s: a draft; check it before you use it\n", r.Script)
	return nil
}
