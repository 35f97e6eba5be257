package bftsmart

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Decision is a replica's decision.
type Decision struct {
	Consensus, Epoch int
	Value            string // a hash of the proposal, or none
}

// none is the value of a decision if the replica has the votes but not the proposal.
const none = "none"

// differs reports whether two decisions have different values.
func (d *Decision) differs(other *Decision) bool {
	return d.Value != other.Value && d.Value != none && other.Value != none
}

// String returns the decision as text.
func (d *Decision) String() string {
	return fmt.Sprintf("%s in consensus %d, epoch %d", d.Value, d.Consensus, d.Epoch)
}

// Execution is a number that a replica appended. Time is the timestamp of the batch, which is part of the decision:
// state machines receive it, so that all have the same.
type Execution struct {
	Consensus, Number int
	Time              int64
}

// String returns the execution as text.
func (e *Execution) String() string {
	return fmt.Sprintf("%d in consensus %d of time %d", e.Number, e.Consensus, e.Time)
}

// value parses the value of an event from its text.
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

// Promise is the guarantees of a replicated state machine. Replicas decide the same value in each consensus and execute
// the same requests in the same order. Clients requested everything that replicas execute. After faults have stopped
// for a while, every request is answered.
var Promise = spec.All(
	spec.Agreement(EventDecided, func(d *Decision) int { return d.Consensus },
		func(a, b *Decision) bool { return !a.differs(b) }),
	spec.New("order", func(lockstep.Info) *order { return &order{} }),
	spec.New("validity", func(lockstep.Info) *validity { return &validity{} }),
	spec.New("bounded liveness", func(lockstep.Info) *liveness { return &liveness{} }),
)

// order: the executions of each correct replica are a prefix of one sequence.
type order struct {
	longest []Execution
	at      map[lockstep.Node]int
	checked int
}

// Reset begins a new run.
func (o *order) Reset() { *o = order{longest: o.longest[:0], at: map[lockstep.Node]int{}} }

// End returns nil: only events are checked.
func (*order) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked returns the number of checks.
func (o *order) Checked() int { return o.checked }

// Event checks an execution. A restarted replica begins again: it receives the earlier state from others, without
// executing it.
func (o *order) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type != EventExecuted || run.Byzantine().Has(e.Node) || run.EverCrashed().Has(e.Node) {
		return nil
	}
	now := e.Value.(*Execution)
	at := o.at[e.Node]
	o.at[e.Node]++
	if at == len(o.longest) {
		o.longest = append(o.longest, *now)
		return nil
	}
	o.checked++
	if was := &o.longest[at]; *was != *now {
		return &lockstep.Finding{Nodes: trace.NodesOf(e.Node), Values: []string{now.String(), was.String()},
			Text: fmt.Sprintf("node %d appends %s as its %d. number, where another had appended %s", e.Node, now, at+1,
				was)}
	}
	return nil
}

// validity: each execution was requested, and happens once.
type validity struct {
	asked   map[int]bool
	done    map[[2]int]bool
	checked int
}

// Reset begins a new run.
func (v *validity) Reset() { *v = validity{asked: map[int]bool{}, done: map[[2]int]bool{}} }

// End returns nil: only events are checked.
func (*validity) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked returns the number of checks.
func (v *validity) Checked() int { return v.checked }

// Event checks an execution.
func (v *validity) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type == EventAsked {
		v.asked[e.Value.(int)] = true
	}
	if e.Type != EventExecuted || run.Byzantine().Has(e.Node) {
		return nil
	}
	x := e.Value.(*Execution)
	key := [2]int{int(e.Node), x.Number}
	v.checked++
	what := ""
	switch {
	case !v.asked[x.Number]:
		what = "which no client requested"
	case v.done[key] && !run.EverCrashed().Has(e.Node):
		what = "which it had appended before"
	}
	v.done[key] = true
	if what == "" {
		return nil
	}
	return &lockstep.Finding{
		Nodes:  trace.NodesOf(e.Node),
		Values: []string{x.String()},
		Text:   fmt.Sprintf("node %d appends %s, %s", e.Node, x, what),
	}
}

// liveness: after a settling stage every request has its answer.
type liveness struct {
	asked, answered map[int]bool
	checked         int
}

// Reset begins a new run.
func (l *liveness) Reset() { *l = liveness{asked: map[int]bool{}, answered: map[int]bool{}} }

// Checked returns the number of checks.
func (l *liveness) Checked() int { return l.checked }

// Event records a request or an answer.
func (l *liveness) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case EventAsked:
		l.asked[e.Value.(int)] = true
	case EventReply:
		l.answered[e.Value.(int)] = true
	}
	return nil
}

// End checks a settled run.
func (l *liveness) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || len(l.asked) == 0 {
		return nil
	}
	l.checked++
	if missing := len(l.asked) - len(l.answered); missing > 0 {
		return &lockstep.Finding{
			Text: fmt.Sprintf("%d of %d requests have no answer, although faults stopped", missing, len(l.asked)),
		}
	}
	return nil
}
