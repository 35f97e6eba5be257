package bftsmart

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Decision is what a replica decided.
type Decision struct {
	Consensus, Epoch int
	Value            string // a hash of what was proposed, or none
}

// none is the value of a decision of which the replica has the votes and not the proposal.
const none = "none"

// differs tells whether two decisions are about different values.
func (d *Decision) differs(other *Decision) bool {
	return d.Value != other.Value && d.Value != none && other.Value != none
}

// String is the decision in words.
func (d *Decision) String() string {
	return fmt.Sprintf("%s in consensus %d, epoch %d", d.Value, d.Consensus, d.Epoch)
}

// Execution is what a replica appended. Time is that of the batch, which is part of what was decided:
// state machines are told it, so that all have the same.
type Execution struct {
	Consensus, Number int
	Time              int64
}

// String is the execution in words.
func (e *Execution) String() string {
	return fmt.Sprintf("%d in consensus %d of time %d", e.Number, e.Consensus, e.Time)
}

// value is the value of an event, from its words.
func value(event, text string) any {
	switch event {
	case EventDecided:
		var d Decision
		if _, err := fmt.Sscanf(text, "consensus=%d epoch=%d value=%s", &d.Consensus, &d.Epoch, &d.Value); err == nil {
			return &d
		}
	case EventExecuted:
		var e Execution
		if _, err := fmt.Sscanf(text, "consensus=%d time=%d value=%d", &e.Consensus, &e.Time, &e.Number); err == nil {
			return &e
		}
	case EventNewEpoch:
		var epoch int
		if _, err := fmt.Sscanf(text, "epoch=%d", &epoch); err == nil {
			return epoch
		}
	}
	return text
}

// Promise is what a replicated state machine promises: replicas decide the same in each
// consensus and execute the same in the same order, what is executed was asked for, and, when
// faults have stopped for a while, every request is answered.
var Promise = spec.All(
	spec.Agreement(EventDecided, func(d *Decision) int { return d.Consensus }, func(a, b *Decision) bool { return !a.differs(b) }),
	spec.New("order", func(lockstep.Info) *order { return &order{} }),
	spec.New("validity", func(lockstep.Info) *validity { return &validity{} }),
	spec.New("bounded liveness", func(lockstep.Info) *liveness { return &liveness{} }),
)

// order: what correct replicas execute is a prefix of one sequence.
type order struct {
	longest []Execution
	at      map[lockstep.Node]int
	judged  int
}

// Reset begins a new run.
func (o *order) Reset() { *o = order{longest: o.longest[:0], at: map[lockstep.Node]int{}} }

// End returns nil: only events are checked.
func (*order) End(*lockstep.Run) *lockstep.Finding { return nil }

// Judged counts the judgements.
func (o *order) Judged() int { return o.judged }

// Event judges an execution. A replica that was restarted begins again: it gets what was before
// from others, without executing it.
func (o *order) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type != EventExecuted || run.Faults().Forged.Has(e.Node) || run.Faults().Crashed.Has(e.Node) {
		return nil
	}
	now := e.Value.(*Execution)
	at := o.at[e.Node]
	o.at[e.Node]++
	if at == len(o.longest) {
		o.longest = append(o.longest, *now)
		return nil
	}
	o.judged++
	if was := &o.longest[at]; *was != *now {
		return &lockstep.Finding{Nodes: trace.NodesOf(e.Node), Values: []string{now.String(), was.String()},
			Text: fmt.Sprintf("node %d appends %s as its %d. number, where another had appended %s", e.Node, now, at+1, was)}
	}
	return nil
}

// validity: what is executed was asked for, once.
type validity struct {
	asked  map[int]bool
	done   map[[2]int]bool
	judged int
}

// Reset begins a new run.
func (v *validity) Reset() { *v = validity{asked: map[int]bool{}, done: map[[2]int]bool{}} }

// End returns nil: only events are checked.
func (*validity) End(*lockstep.Run) *lockstep.Finding { return nil }

// Judged counts the judgements.
func (v *validity) Judged() int { return v.judged }

// Event judges an execution.
func (v *validity) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type == EventAsked {
		v.asked[e.Value.(int)] = true
	}
	if e.Type != EventExecuted || run.Faults().Forged.Has(e.Node) {
		return nil
	}
	x := e.Value.(*Execution)
	key := [2]int{int(e.Node), x.Number}
	v.judged++
	what := ""
	switch {
	case !v.asked[x.Number]:
		what = "which nobody asked for"
	case v.done[key] && !run.Faults().Crashed.Has(e.Node):
		what = "which it had appended before"
	}
	v.done[key] = true
	if what == "" {
		return nil
	}
	return &lockstep.Finding{Nodes: trace.NodesOf(e.Node), Values: []string{x.String()}, Text: fmt.Sprintf("node %d appends %s, %s", e.Node, x, what)}
}

// liveness: after a settling stage every request has its answer.
type liveness struct {
	asked, answered map[int]bool
	judged          int
}

// Reset begins a new run.
func (l *liveness) Reset() { *l = liveness{asked: map[int]bool{}, answered: map[int]bool{}} }

// Judged counts the judgements.
func (l *liveness) Judged() int { return l.judged }

// Event notes a request or an answer.
func (l *liveness) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case EventAsked:
		l.asked[e.Value.(int)] = true
	case EventReply:
		l.answered[e.Value.(int)] = true
	}
	return nil
}

// End judges a settled run.
func (l *liveness) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || len(l.asked) == 0 {
		return nil
	}
	l.judged++
	if missing := len(l.asked) - len(l.answered); missing > 0 {
		return &lockstep.Finding{Text: fmt.Sprintf("%d of %d requests have no answer, although faults stopped", missing, len(l.asked))}
	}
	return nil
}
