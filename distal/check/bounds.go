package check

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/syntax"
)

// linear is a symbolic whole number: an unknown named base, plus a constant. The empty base is the constant zero.
type linear struct {
	base string
	off  int64
}

// fact says that a - b <= c for two unknowns.
type fact struct {
	a, b string
	c    int64
}

// facts is a set of difference constraints. It is small, so shortest paths are found afresh for every question.
type facts []fact

const unbounded = int64(1) << 40

// atMost returns the least c for which the facts prove x - y <= c, or unbounded.
func (fs facts) atMost(x, y linear) int64 {
	if x.base == y.base {
		return x.off - y.off
	}
	// Distance from y to x over edges b -> a of length c.
	dist := map[string]int64{y.base: 0}
	for range len(fs) + 1 {
		changed := false
		for _, f := range fs {
			d, ok := dist[f.b]
			if !ok {
				continue
			}
			if old, ok := dist[f.a]; !ok || d+f.c < old {
				dist[f.a] = d + f.c
				changed = true
			}
		}
		if !changed {
			break
		}
	}
	d, ok := dist[x.base]
	if !ok {
		return unbounded
	}
	return d + x.off - y.off
}

// absurd says whether the facts contradict each other.
func (fs facts) absurd() bool {
	for _, f := range fs {
		// A cycle of negative length through f: a - b <= c and b - a <= d with c + d < 0.
		if d := fs.atMost(linear{f.b, 0}, linear{f.a, 0}); f.a != f.b && d < unbounded && d+f.c < 0 {
			return true
		}
		if f.a == f.b && f.c < 0 {
			return true
		}
	}
	return false
}

func (fs facts) less(x, y linear) bool   { return fs.atMost(x, y) <= -1 }
func (fs facts) noMore(x, y linear) bool { return fs.atMost(x, y) <= 0 }
func (fs facts) equal(x, y linear) bool  { return fs.noMore(x, y) && fs.noMore(y, x) }

// learn adds what a condition (or its negation) says about symbolic numbers; the rest is ignored.
func (e *symbolic) learn(x *syntax.Expr, truth bool) {
	switch {
	case x.Kind == syntax.UnaryExpr && x.Name == "not":
		e.learn(x.Args[0], !truth)
	case x.Kind == syntax.BinaryExpr && (x.Name == "and" && truth || x.Name == "or" && !truth):
		e.learn(x.Args[0], truth)
		e.learn(x.Args[1], truth)
	case x.Kind == syntax.BinaryExpr:
		a, okA := e.value(x.Args[0])
		b, okB := e.value(x.Args[1])
		if okA && okB {
			e.compare(x.Name, a, b, truth)
		}
	case x.Kind == syntax.NameExpr && (x.Name == "true" && !truth || x.Name == "false" && truth):
		e.facts = append(e.facts, fact{"", "", -1})
	}
}

var negated = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}

func (e *symbolic) compare(op string, a, b linear, truth bool) {
	if !truth {
		op = negated[op]
	}
	add := func(x, y linear, slack int64) { // x - y <= slack
		e.facts = append(e.facts, fact{x.base, y.base, slack + y.off - x.off})
	}
	switch op {
	case "<":
		add(a, b, -1)
	case "<=":
		add(a, b, 0)
	case ">":
		add(b, a, -1)
	case ">=":
		add(b, a, 0)
	case "==":
		add(a, b, 0)
		add(b, a, 0)
	}
}

// value gives an expression of type int a symbolic value, if it is simple enough.
func (e *symbolic) value(x *syntax.Expr) (linear, bool) {
	info := e.prog.Info
	if t := info.Types[x]; t == nil || t.Kind != Int {
		return linear{}, false
	}
	switch x.Kind {
	case syntax.IntExpr:
		return linear{"", x.Int}, true
	case syntax.NameExpr:
		switch r := info.Refs[x]; r.Kind {
		case RefVar:
			return e.vars[r.Index], true
		case RefParam:
			return linear{"param " + x.Name, 0}, true
		case RefLocal:
			v, ok := e.locals[r.Index]
			return v, ok
		}
	case syntax.DotExpr:
		return e.messageField(info.Refs[x])
	case syntax.FieldExpr:
		if e.isMessage(x.Args[0]) {
			return e.messageField(info.Refs[x])
		}
	case syntax.BinaryExpr:
		return e.sum(x)
	}
	return linear{}, false
}

func (e *symbolic) sum(x *syntax.Expr) (linear, bool) {
	a, okA := e.value(x.Args[0])
	b, okB := e.value(x.Args[1])
	switch {
	case !okA || !okB:
	case x.Name == "+" && b.base == "":
		return linear{a.base, a.off + b.off}, true
	case x.Name == "+" && a.base == "":
		return linear{b.base, a.off + b.off}, true
	case x.Name == "-" && b.base == "":
		return linear{a.base, a.off - b.off}, true
	}
	return linear{}, false
}

// isMessage says whether x is the rule's message, or any one of its messages.
func (e *symbolic) isMessage(x *syntax.Expr) bool {
	if x.Kind == syntax.CallExpr && x.Name == "first" {
		x = x.Args[0]
	}
	r := e.prog.Info.Refs[x]
	return e.message != nil && x.Kind == syntax.NameExpr && r.Kind == RefLocal && r.Index == 0 && e.depth == 0
}

// messageField is the phase of the rule's tag, which all its messages share, or an unknown.
func (e *symbolic) messageField(r Ref) (linear, bool) {
	if e.message == nil || r.Kind != RefField {
		return linear{}, false
	}
	if r.Index == e.message.Phase {
		return linear{"tag", 0}, true
	}
	return linear{}, false
}

func (e *symbolic) unknown() linear {
	*e.counter++
	return linear{fmt.Sprintf("unknown %d", *e.counter), 0}
}
