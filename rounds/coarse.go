package rounds

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// aim asks the plan which links lose their messages in this round.
func (d *Driver) aim(turn *lockstep.Turn) {
	clear(d.want)
	for from := range turn.All().All() {
		for to := range turn.All().Without(from).All() {
			if m := (trace.Message{From: from, To: to}); d.isolates(&m) || d.plan.Loses(&m) {
				d.want[from] = d.want[from].With(to)
			}
		}
	}
}

// lower chooses a step at the border of a round that brings the system closer to the plan, or reports false at the
// end of the stage. It leaves cuts and crashes by others alone.
func (d *Driver) lower(turn *lockstep.Turn, next *lockstep.Step) bool {
	switch {
	case d.stage == end:
		return d.crashNext(turn, 0, next)
	case d.stage == undo && d.crash:
		return d.restart(turn, next)
	case d.stage == undo:
		return d.heal(turn, next)
	case d.crash:
		return d.crashNext(turn, d.kernel, next)
	default:
		return d.cut(turn, next)
	}
}

// restart restarts a node that has returned to the kernel.
func (d *Driver) restart(turn *lockstep.Turn, next *lockstep.Step) bool {
	d.down &^= turn.Up()
	n := (d.down & d.kernel).First()
	if n == 0 {
		return false
	}
	next.Kind, next.Node = trace.Restart, n
	return true
}

// crashNext crashes a node that is not spared.
func (d *Driver) crashNext(turn *lockstep.Turn, spared lockstep.Nodes, next *lockstep.Step) bool {
	n := (turn.Up() &^ spared).First()
	if n == 0 {
		return false
	}
	d.down = d.down.With(n)
	next.Kind, next.Node = trace.Crash, n
	return true
}

// heal heals excess cuts, sender by sender, or everything at once.
func (d *Driver) heal(turn *lockstep.Turn, next *lockstep.Step) bool {
	var n lockstep.Node // sender with excess cuts
	whole := true       // no cut remains
	for m := range turn.All().All() {
		d.mine[m] &= turn.Cut(m)
		if n == 0 && d.mine[m]&^d.want[m] != 0 {
			n = m
		}
		whole = whole && d.want[m] == 0 && d.mine[m] == turn.Cut(m)
	}
	switch {
	case n == 0:
		return false
	case whole:
		*next = lockstep.Step{Kind: trace.Heal, From: turn.All(), To: turn.All()}
	default:
		*next = both(turn, trace.Heal, n,
			func(from, to lockstep.Node) bool { return (d.mine[from] &^ d.want[from]).Has(to) })
	}
	return true
}

// cut makes the missing cuts, sender by sender. It begins with isolated nodes, for which one step each is enough.
func (d *Driver) cut(turn *lockstep.Turn, next *lockstep.Step) bool {
	missing := func(from, to lockstep.Node) bool { return (d.want[from] &^ turn.Cut(from)).Has(to) }
	for _, group := range [...]lockstep.Nodes{turn.All() &^ d.kernel, d.kernel} {
		for n := range group.All() {
			if d.want[n]&^turn.Cut(n) != 0 {
				*next = both(turn, trace.Cut, n, missing)
				d.note(next)
				return true
			}
		}
	}
	return false
}

// both makes the step on all links from a node that need one. The step has both directions if all reverse links need
// it, too.
func both(turn *lockstep.Turn, kind trace.Kind, n lockstep.Node,
	needs func(from, to lockstep.Node) bool) lockstep.Step {
	s := lockstep.Step{Kind: kind, From: trace.NodesOf(n)}
	for m := range turn.All().Without(n).All() {
		if needs(n, m) {
			s.To = s.To.With(m)
			s.OneWay = s.OneWay || !needs(m, n)
		}
	}
	return s
}

// note records the links that the driver itself cuts.
func (d *Driver) note(s *lockstep.Step) {
	n := s.From.First()
	d.mine[n] |= s.To
	if !s.OneWay {
		for m := range s.To.All() {
			d.mine[m] = d.mine[m].With(n)
		}
	}
}
