package promela

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

func (g *generator) typ(e *syntax.Expr) *check.Type { return g.prog.Info.Types[e] }

// tmp makes a fresh C name.
func (g *generator) tmp() string {
	g.temps++
	return fmt.Sprintf("t%d", g.temps)
}

// expr writes an expression in C (with GNU statement expressions).
func (g *generator) expr(e *syntax.Expr) string {
	switch e.Kind {
	case syntax.IntExpr:
		return fmt.Sprint(e.Int)
	case syntax.NameExpr:
		return g.name(e)
	case syntax.UnaryExpr:
		if e.Name == "not" {
			return "(!" + g.expr(e.Args[0]) + ")"
		}
		return "(-" + g.expr(e.Args[0]) + ")"
	case syntax.BinaryExpr:
		return g.binary(e)
	case syntax.CallExpr:
		return g.call(e)
	case syntax.FieldExpr:
		return g.field(e)
	case syntax.DotExpr:
		if g.prog.Info.Refs[e].Kind == check.RefFrom {
			return "l1.from"
		}
		return "l1.f_" + e.Name
	case syntax.IndexExpr:
		s, i := g.tmp(), g.tmp()
		return fmt.Sprintf("({ %s %s = %s; int %s = %s; if (%s < 0 || %s >= %s.len) { faulted = 1; %s = 0; } %s.a[%s]; })",
			g.ctype(g.typ(e.Args[0])), s, g.expr(e.Args[0]), i, g.expr(e.Args[1]), i, i, s, i, s, i)
	case syntax.SetExpr, syntax.SeqExpr:
		return g.literal(e)
	case syntax.IfExpr:
		return fmt.Sprintf("(%s ? %s : %s)", g.expr(e.Args[0]), g.expr(e.Args[1]), g.expr(e.Args[2]))
	}
	return g.binding(e)
}

func (g *generator) name(e *syntax.Expr) string {
	switch r := g.prog.Info.Refs[e]; r.Kind {
	case check.RefLocal:
		return fmt.Sprintf("l%d", r.Index)
	case check.RefVar:
		return "s->v_" + e.Name
	case check.RefParam:
		return fmt.Sprint(g.params[e.Name])
	case check.RefEnum:
		return fmt.Sprint(r.Index)
	}
	switch e.Name {
	case "true", "timely":
		return "1"
	case "false":
		return "0"
	case "self":
		return "self"
	case "all":
		return fmt.Sprintf("((u16)%d)", g.all())
	case "others":
		return fmt.Sprintf("((u16)(%d & ~(1 << self)))", g.all())
	}
	return "((" + g.ctype(g.typ(e)) + "){0})" // none
}

// all is the mask of all nodes; node i has bit i.
func (g *generator) all() int { return 1<<(g.n+1) - 2 }

func (g *generator) field(e *syntax.Expr) string {
	base := g.expr(e.Args[0])
	switch g.prog.Info.Refs[e].Kind {
	case check.RefNodeVar:
		return fmt.Sprintf("L(%s)->v_%s", base, e.Name)
	case check.RefNodeOutput:
		return fmt.Sprintf("L(%s)->out", base)
	case check.RefFrom:
		return "(" + base + ").from"
	}
	return "(" + base + ").f_" + e.Name
}

func (g *generator) equal(a, b string, t *check.Type) string {
	if scalar(t) {
		return fmt.Sprintf("(%s == %s)", a, b)
	}
	x, y, c := g.tmp(), g.tmp(), g.ctype(t)
	return fmt.Sprintf("({ %s %s = %s; %s %s = %s; memcmp(&%s, &%s, sizeof %s) == 0; })", c, x, a, c, y, b, x, y, x)
}

var cOperators = map[string]string{"and": "&&", "or": "||", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "*": "*"}

func (g *generator) binary(e *syntax.Expr) string {
	a, b := g.expr(e.Args[0]), g.expr(e.Args[1])
	t := g.typ(e.Args[0])
	if op := cOperators[e.Name]; op != "" {
		return fmt.Sprintf("(%s %s %s)", a, op, b)
	}
	switch e.Name {
	case "implies":
		return fmt.Sprintf("(!%s || %s)", a, b)
	case "==":
		return g.equal(a, b, t)
	case "!=":
		return "(!" + g.equal(a, b, t) + ")"
	case "in":
		return g.member(a, b, e)
	case "prefix":
		return g.prefix(a, b, t)
	case "..":
		m, i := g.tmp(), g.tmp()
		return fmt.Sprintf("({ u64 %s = 0; for (int %s = %s; %s <= %s; %s++) { if (%s < 0 || %s > 63) { faulted = 1; break; } %s |= 1ULL << %s; } %s; })",
			m, i, a, i, b, i, i, i, m, i, m)
	case "/", "%":
		y := g.tmp()
		return fmt.Sprintf("({ int %s = %s; if (%s == 0) { faulted = 1; %s = 1; } %s %s %s; })", y, b, y, y, a, e.Name, y)
	}
	switch {
	case t.Kind == check.Int:
		return fmt.Sprintf("(%s %s %s)", a, e.Name, b)
	case t.Kind == check.Seq:
		return g.concat(a, b, t)
	case !scalar(t):
		g.fail("'%s' on sets of messages", e.Name)
	case e.Name == "+":
		return fmt.Sprintf("(%s | %s)", a, b)
	}
	return fmt.Sprintf("(%s & ~%s)", a, b)
}

func (g *generator) member(a, b string, e *syntax.Expr) string {
	t := g.typ(e.Args[1])
	if t.Kind == check.Set && scalar(t) {
		return fmt.Sprintf("((%s >> %s) & 1)", b, a)
	}
	s, x, i, found, elem := g.tmp(), g.tmp(), g.tmp(), g.tmp(), g.ctype(t.Elem)
	return fmt.Sprintf("({ %s %s = %s; %s %s = %s; int %s = 0; for (int %s = 0; %s < %s.len; %s++) %s |= %s; %s; })",
		g.ctype(t), s, b, elem, x, a, found, i, i, s, i, found, g.equal(s+".a["+i+"]", x, t.Elem), found)
}

func (g *generator) concat(a, b string, t *check.Type) string {
	x, y, i := g.tmp(), g.tmp(), g.tmp()
	c := g.ctype(t)
	return fmt.Sprintf("({ %s %s = %s; %s %s = %s; for (int %s = 0; %s < %s.len; %s++) { if (%s.len >= %d) { faulted = 1; break; } %s.a[%s.len++] = %s.a[%s]; } %s; })",
		c, x, a, c, y, b, i, i, y, i, x, g.opt.SeqMax, x, x, y, i, x)
}

func (g *generator) prefix(a, b string, t *check.Type) string {
	x, y, c := g.tmp(), g.tmp(), g.ctype(t)
	return fmt.Sprintf("({ %s %s = %s; %s %s = %s; %s.len <= %s.len && memcmp(%s.a, %s.a, %s.len * sizeof %s.a[0]) == 0; })",
		c, x, a, c, y, b, x, y, x, y, x, x)
}

func (g *generator) literal(e *syntax.Expr) string {
	t := g.typ(e)
	c, x := g.ctype(t), g.tmp()
	var b strings.Builder
	if t.Kind == check.Set {
		if !scalar(t) && len(e.Args) > 0 {
			g.fail("set literals of %s", t.Elem)
		}
		if len(e.Args) == 0 {
			return "((" + c + "){0})"
		}
		for i, a := range e.Args {
			if i > 0 {
				b.WriteString(" | ")
			}
			fmt.Fprintf(&b, "((%s)1 << %s)", c, g.expr(a))
		}
		return "(" + b.String() + ")"
	}
	fmt.Fprintf(&b, "({ %s %s = {0}; ", c, x)
	for _, a := range e.Args {
		fmt.Fprintf(&b, "%s.a[%s.len++] = %s; ", x, x, g.expr(a))
	}
	return b.String() + x + "; })"
}

// each writes a loop over a collection that runs body with the C variable bound.
func (g *generator) each(set *syntax.Expr, bound, body string) string {
	t := g.typ(set)
	s, i := g.tmp(), g.tmp()
	if t.Kind == check.Set && scalar(t) {
		return fmt.Sprintf("{ u64 %s = %s; for (int %s = 0; %s < 64; %s++) if ((%s >> %s) & 1) { %s %s = %s; %s } }",
			s, g.expr(set), i, i, i, s, i, g.ctype(t.Elem), bound, i, body)
	}
	return fmt.Sprintf("{ %s %s = %s; for (int %s = 0; %s < %s.len; %s++) { %s %s = %s.a[%s]; %s } }",
		g.ctype(t), s, g.expr(set), i, i, s, i, g.ctype(t.Elem), bound, s, i, body)
}

func (g *generator) binding(e *syntax.Expr) string {
	slots := g.prog.Info.Binders[e]
	slot := func(i int) string { return fmt.Sprintf("l%d", slots[i]) }
	r := g.tmp()
	switch e.Kind {
	case syntax.BuildExpr:
		t := g.typ(e)
		add := fmt.Sprintf("%s |= (%s)1 << %s;", r, g.ctype(t), g.expr(e.Args[0]))
		if t.Elem.Kind == check.Message {
			add = fmt.Sprintf("%s.a[%s.len++] = %s;", r, r, g.expr(e.Args[0]))
		}
		if len(e.Args) > 2 {
			add = fmt.Sprintf("if (%s) { %s }", g.expr(e.Args[2]), add)
		}
		return fmt.Sprintf("({ %s %s = {0}; %s %s; })", g.ctype(t), r, g.each(e.Args[1], slot(0), add), r)
	case syntax.QuantExpr:
		start, add := "0", r+" += "+g.expr(e.Args[1])+";"
		switch e.Name {
		case "forall":
			start, add = "1", fmt.Sprintf("if (!%s) %s = 0;", g.expr(e.Args[1]), r)
		case "exists":
			add = fmt.Sprintf("if (%s) %s = 1;", g.expr(e.Args[1]), r)
		}
		for i := len(slots) - 1; i >= 0; i-- {
			add = g.each(e.Args[0], slot(i), add)
		}
		return fmt.Sprintf("({ int %s = %s; %s %s; })", r, start, add, r)
	}
	return g.best(e, slot(0), r)
}

func (g *generator) best(e *syntax.Expr, slot, r string) string {
	first, keys, better := g.tmp(), g.tmp(), g.tmp()
	list := e.Args[1:]
	values := []string{slot}
	if len(list) > 0 {
		values = nil
		for _, k := range list {
			values = append(values, g.expr(k))
		}
	}
	op := ">"
	if e.Name == "min" {
		op = "<"
	}
	body := fmt.Sprintf("int %s = %s; ", better, first)
	for i, v := range values {
		k := g.tmp()
		body += fmt.Sprintf("int %s = %s; if (!%s && %s == 0) %s = %s %s %s[%d] ? 2 : %s == %s[%d] ? 0 : -1; ", k, v, first,
			better, better, k, op, keys, i, k, keys, i)
		values[i] = k
	}
	body += fmt.Sprintf("if (%s > 0) { %s = %s; %s = 0; ", better, r, slot, first)
	for i, v := range values {
		body += fmt.Sprintf("%s[%d] = %s; ", keys, i, v)
	}
	return fmt.Sprintf("({ %s %s = {0}; int %s = 1; int %s[%d] = {0}; %s if (%s) faulted = 1; %s; })",
		g.ctype(g.typ(e)), r, first, keys, len(values), g.each(e.Args[0], slot, body+"}"), first, r)
}

func (g *generator) args(list []*syntax.Expr) string {
	var out []string
	for _, a := range list {
		out = append(out, g.expr(a))
	}
	return strings.Join(out, ", ")
}

func (g *generator) call(e *syntax.Expr) string {
	r := g.prog.Info.Refs[e]
	switch r.Kind {
	case check.RefFun:
		return "fun_" + e.Name + "(" + g.args(e.Args) + ")"
	case check.RefRecord:
		return "((" + g.ctype(g.typ(e)) + "){" + g.args(e.Args) + "})"
	}
	if r.Index == check.BuiltinReceived {
		g.fail("received(...)")
		return "0"
	}
	x, t := g.expr(e.Args[0]), g.typ(e.Args[0])
	v := g.tmp()
	switch r.Index {
	case check.BuiltinLen:
		if scalar(t) {
			return "__builtin_popcountll(" + x + ")"
		}
		return "(" + x + ").len"
	case check.BuiltinFirst, check.BuiltinLast:
		at := "0"
		if r.Index == check.BuiltinLast {
			at = v + ".len - 1"
		}
		if scalar(t) {
			return fmt.Sprintf("({ u64 %s = %s; if (!%s) faulted = 1; __builtin_ctzll(%s | 1ULL << 63); })", v, x, v, v)
		}
		return fmt.Sprintf("({ %s %s = %s; if (!%s.len) { faulted = 1; %s.len = 1; } %s.a[%s]; })", g.ctype(t), v, x, v, v, v, at)
	case check.BuiltinNode:
		return fmt.Sprintf("({ int %s = %s; if (%s < 1 || %s > %d) { faulted = 1; %s = 1; } %s; })", v, x, v, v, g.n, v, v)
	case check.BuiltinSome:
		return fmt.Sprintf("((%s){1, %s})", g.ctype(g.typ(e)), x)
	case check.BuiltinThe:
		return fmt.Sprintf("({ %s %s = %s; if (!%s.some) faulted = 1; %s.v; })", g.ctype(t), v, x, v, v)
	case check.BuiltinComparable:
		return g.comparable(x, g.expr(e.Args[1]), t)
	case check.BuiltinChoose:
		if !scalar(t) || t.Kind != check.Set {
			g.fail("choose from %s", t)
		}
		return "nth(" + x + ")"
	}
	return x // id
}

func (g *generator) comparable(a, b string, t *check.Type) string {
	if t.Kind == check.Option {
		x, y, c := g.tmp(), g.tmp(), g.ctype(t)
		return fmt.Sprintf("({ %s %s = %s; %s %s = %s; !%s.some || !%s.some || %s; })", c, x, a, c, y, b, x, y,
			g.comparable(x+".v", y+".v", t.Elem))
	}
	return fmt.Sprintf("(%s || %s)", g.prefix(a, b, t), g.prefix(b, a, t))
}
