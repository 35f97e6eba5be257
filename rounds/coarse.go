package rounds

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// links asks the plan which links lose their messages in this round.
func (d *Driver) links(run *lockstep.Run) {
	clear(d.want)
	for from := range run.All().All() {
		for to := range run.All().Without(from).All() {
			if m := (lockstep.Message{From: from, To: to}); d.isolates(&m) || d.plan.Loses(&m) {
				d.want[from] = d.want[from].With(to)
			}
		}
	}
}

// lower chooses a step at the border of a round that brings the system closer to what the
// plan wants of it, or reports false at the end of the stage.
func (d *Driver) lower(run *lockstep.Run, next *lockstep.Step) bool {
	if d.crash {
		return d.lowerToCrashes(run, next)
	}
	switch d.stage {
	case heal:
		return d.heal(run, next)
	case isolate:
		return d.cut(run, next)
	}
	return false
}

// lowerToCrashes restarts nodes that are in the kernel again and crashes those that left it.
func (d *Driver) lowerToCrashes(run *lockstep.Run, next *lockstep.Step) bool {
	switch d.stage {
	case restart:
		next.Kind, next.Node = trace.Restart, (d.kernel &^ run.Up()).First()
	case isolate:
		next.Kind, next.Node = trace.Crash, (run.Up() &^ d.kernel).First()
	}
	return next.Node != 0
}

// heal heals everything where nothing is to be cut, and otherwise what is cut too much,
// sender by sender.
func (d *Driver) heal(run *lockstep.Run, next *lockstep.Step) bool {
	var extra lockstep.Nodes // senders that are cut off from too many
	whole := true
	for n := range run.All().All() {
		if run.Cut(n)&^d.want[n] != 0 {
			extra = extra.With(n)
		}
		whole = whole && d.want[n] == 0
	}
	switch n := extra.First(); {
	case extra == 0:
		return false
	case whole:
		*next = lockstep.Step{Kind: trace.Heal, From: run.All(), To: run.All()}
	default:
		*next = d.both(run, trace.Heal, n, run.Cut(n)&^d.want[n], func(m lockstep.Node) bool { return run.Cut(m).Has(n) && !d.want[m].Has(n) })
	}
	return true
}

// cut cuts what is not cut yet, sender by sender.
func (d *Driver) cut(run *lockstep.Run, next *lockstep.Step) bool {
	for _, group := range [...]lockstep.Nodes{run.All() &^ d.kernel, d.kernel} { // isolated nodes first: one step for each
		for n := range group.All() {
			if missing := d.want[n] &^ run.Cut(n); missing != 0 {
				*next = d.both(run, trace.Cut, n, missing, func(m lockstep.Node) bool { return !run.Cut(m).Has(n) && d.want[m].Has(n) })
				return true
			}
		}
	}
	return false
}

// both makes the step on the links from a node: in both directions where all the ways back
// need it, too.
func (d *Driver) both(run *lockstep.Run, kind lockstep.Kind, n lockstep.Node, others lockstep.Nodes, back func(lockstep.Node) bool) lockstep.Step {
	var backs lockstep.Nodes
	for m := range run.All().Without(n).All() {
		if back(m) {
			backs = backs.With(m)
		}
	}
	return lockstep.Step{Kind: kind, From: trace.NodesOf(n), To: others, OneWay: others&^backs != 0}
}
