package promela

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/core"
)

// tmp makes a fresh C name.
func (g *generator) tmp() string {
	g.temps++
	return fmt.Sprintf("t%d", g.temps)
}

func slot(i int) string { return fmt.Sprintf("l%d", i) }

// expr writes an expression in C (with GNU statement expressions).
func (g *generator) expr(e core.Expr) string {
	switch e := e.(type) {
	case *core.Const:
		return g.constant(e.Type, e.Value)
	case *core.Local:
		return slot(e.Slot)
	case *core.Param:
		return fmt.Sprint(g.model.Program.Params()[g.prog.Params[e.Index].Name])
	case *core.Var:
		return fmt.Sprintf("s->v%d", e.Index)
	case *core.NodeVar:
		if g.output {
			return fmt.Sprintf("s->v%d", e.Index)
		}
		return fmt.Sprintf("now.G[%s].v%d", g.expr(e.Node), e.Index)
	case *core.Get:
		return fmt.Sprintf("(%s).f%d", g.expr(e.X), e.Index)
	case *core.Make:
		return fmt.Sprintf("make_%s(%s)", g.name(e.Type), g.args(e.Args))
	case *core.Apply:
		return g.apply(e)
	case *core.Call:
		return fmt.Sprintf("fun_%d(%s)", e.Fun, g.args(e.Args))
	case *core.If:
		return fmt.Sprintf("(%s ? %s : %s)", g.expr(e.Cond), g.expr(e.Then), g.expr(e.Else))
	case *core.Mail:
		return fmt.Sprintf("mail_%d()", e.Message)
	case *core.Build:
		return g.build(e)
	case *core.Quant:
		return g.quantifier(e)
	case *core.Best:
		return g.best(e)
	case *core.Fit:
		return g.fit(g.expr(e.X), e.Type)
	}
	panic(fmt.Sprintf("promela: no C for %T", e))
}

func (g *generator) args(list []core.Expr) string {
	var out []string
	for _, a := range list {
		out = append(out, g.expr(a))
	}
	return strings.Join(out, ", ")
}

func (g *generator) zero(t *core.Type) string {
	if scalar(t) || g.name(t) == "nodes" {
		return "0"
	}
	return "((" + g.name(t) + "){0})"
}

func (g *generator) constant(t *core.Type, v core.Value) string {
	switch {
	case scalar(t):
		if v.N < 0 {
			return fmt.Sprintf("(%d)", v.N)
		}
		return fmt.Sprint(v.N)
	case len(v.E) == 0:
		return g.zero(t)
	}
	g.fail("constants of type %s", t)
	return "0"
}

// apply fills the template of the operator's row.
func (g *generator) apply(e *core.Apply) string {
	row := core.Operators[e.Op]
	if reason, ok := strings.CutPrefix(row.C, "#"); ok {
		g.fail("%s", reason)
		return "0"
	}
	text, fold := strings.CutPrefix(row.C, "fold ")
	pairs := []string{}
	if strings.Contains(text, "{r}") {
		pairs = append(pairs, "{r}", g.name(e.Type))
	}
	for i, a := range e.Args {
		if key := fmt.Sprintf("{%d}", i); strings.Contains(text, key) {
			pairs = append(pairs, key, g.name(a.Of()))
		}
	}
	if fold {
		out, add := g.zero(e.Type), strings.NewReplacer(pairs...).Replace(text)
		for _, a := range e.Args {
			out = fmt.Sprintf("%s(%s, %s)", add, out, g.expr(a))
		}
		return out
	}
	for i, a := range e.Args {
		pairs = append(pairs, fmt.Sprintf("$%d", i), g.expr(a))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// each writes a loop over a collection that runs body with the C variable bound; body may leave it with break.
func (g *generator) each(set core.Expr, bound, body string) string {
	t := set.Of()
	s, i := g.tmp(), g.tmp()
	elem := g.ctype(t.Elem)
	if g.name(t) == "nodes" {
		return fmt.Sprintf("{ nodes %s = %s; for (int %s = 1; %s <= NODES_; %s++) if ((%s >> %s) & 1) { %s %s = %s; %s } }",
			s, g.expr(set), i, i, i, s, i, elem, bound, i, body)
	}
	return fmt.Sprintf("{ %s %s = %s; for (int %s = 0; %s < %s.len; %s++) { %s %s = %s.a[%s]; %s } }",
		g.name(t), s, g.expr(set), i, i, s, i, elem, bound, s, i, body)
}

func (g *generator) build(e *core.Build) string {
	r := g.tmp()
	add := fmt.Sprintf("%s = add_%s(%s, %s);", r, g.name(e.Type), r, g.expr(e.Elem))
	if e.Cond != nil {
		add = fmt.Sprintf("if (%s) { %s }", g.expr(e.Cond), add)
	}
	return fmt.Sprintf("({ %s %s = %s; %s %s; })", g.ctype(e.Type), r, g.zero(e.Type),
		g.each(e.Set, slot(e.Slot.Slot), add), r)
}

// quantifier stops evaluating where the machine does, so that both meet the same faults.
func (g *generator) quantifier(e *core.Quant) string {
	r := g.tmp()
	start, body := "0", r+" += "+g.expr(e.Body)+";"
	switch e.Kind {
	case core.Forall:
		start, body = "1", fmt.Sprintf("if (%s && !%s) %s = 0;", r, g.expr(e.Body), r)
	case core.Exists:
		body = fmt.Sprintf("if (!%s && %s) %s = 1;", r, g.expr(e.Body), r)
	case core.Count:
	}
	for i := len(e.Slots) - 1; i >= 0; i-- {
		body = g.each(e.Set, slot(e.Slots[i].Slot), body)
	}
	return fmt.Sprintf("({ int %s = %s; %s %s; })", r, start, body, r)
}

func (g *generator) best(e *core.Best) string {
	r, first, keys, better, bound := g.tmp(), g.tmp(), g.tmp(), g.tmp(), slot(e.Slot.Slot)
	values := []string{bound}
	if len(e.Keys) > 0 {
		values = nil
		for _, k := range e.Keys {
			values = append(values, g.expr(k))
		}
	}
	op := "<"
	if e.Max {
		op = ">"
	}
	body := fmt.Sprintf("int %s = %s; ", better, first)
	for i, v := range values {
		k := g.tmp()
		body += fmt.Sprintf("int %s = %s; if (!%s && %s == 0) %s = %s %s %s[%d] ? 2 : %s == %s[%d] ? 0 : -1; ", k, v, first,
			better, better, k, op, keys, i, k, keys, i)
		values[i] = k
	}
	body += fmt.Sprintf("if (%s > 0) { %s = %s; %s = 0; ", better, r, bound, first)
	for i, v := range values {
		body += fmt.Sprintf("%s[%d] = %s; ", keys, i, v)
	}
	return fmt.Sprintf("({ %s %s = %s; int %s = 1; int %s[%d] = {0}; %s if (%s) fault_i(); %s; })",
		g.ctype(e.Type), r, g.zero(e.Type), first, keys, len(values), g.each(e.Set, bound, body+"}"), first, r)
}

// fit writes the check that a value is in the ranges of its type.
func (g *generator) fit(x string, t *core.Type) string {
	if !t.Ranged() {
		return x
	}
	v := g.tmp()
	switch t.Kind {
	case core.Int:
		low, high, err := g.model.Program.Range(t)
		if err != nil {
			g.fail("a range whose ends cannot be computed: %v", err)
		}
		return fmt.Sprintf("fit_i(%s, %d, %d)", x, low, high)
	case core.Option:
		return fmt.Sprintf("({ %s %s = %s; if (%s.some) %s; %s; })", g.name(t), v, x, v, g.fit(v+".v", t.Elem), v)
	case core.Seq, core.Set:
		if g.name(t) == "nodes" {
			return x
		}
		i := g.tmp()
		return fmt.Sprintf("({ %s %s = %s; for (int %s = 0; %s < %s.len; %s++) %s; %s; })", g.name(t), v, x, i, i, v, i,
			g.fit(v+".a["+i+"]", t.Elem), v)
	case core.Record, core.Message:
		checks := ""
		for i, f := range t.Fields {
			if f.Type.Ranged() {
				checks += g.fit(fmt.Sprintf("%s.f%d", v, i), f.Type) + "; "
			}
		}
		return fmt.Sprintf("({ %s %s = %s; %s %s; })", g.name(t), v, x, checks, v)
	case core.Bool, core.Node, core.Enum:
	}
	return x
}
