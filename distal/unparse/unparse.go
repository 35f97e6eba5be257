// Package unparse writes programs of the core form as text again, which parses to the same program. It is how the
// lock-step form of a program is printed.
package unparse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Program writes a program in lock-step as text.
func Program(p *core.Program) string { return syntax.Format(File(p)) }

// File turns a program in lock-step into a syntax tree.
func File(p *core.Program) *syntax.File {
	w := &writer{p: p, taken: map[string]bool{"now": true, "after": true, "received": true, "heard": true}}
	w.claim()
	f := &syntax.File{Name: p.Name, Lockstep: p.Lockstep}
	for _, q := range p.Params {
		f.Params = append(f.Params, &syntax.Param{Name: q.Name, Default: w.body(nil).expr(q.Default)})
	}
	w.types(f)
	w.state(f)
	w.code(f)
	w.networks(f)
	w.properties(f)
	for _, t := range p.Tests {
		f.Decls = append(f.Decls, w.test(t))
	}
	return f
}

// writer knows the names that are taken.
type writer struct {
	p     *core.Program
	taken map[string]bool
	nets  []string // how the networks are written where they are used
}

func (w *writer) claim() {
	take := func(names ...string) {
		for _, n := range names {
			w.taken[n] = true
		}
	}
	for _, q := range w.p.Params {
		take(q.Name)
	}
	for _, t := range w.p.Enums {
		take(append(slices.Clone(t.Values), t.Name)...)
	}
	for _, t := range w.p.Records {
		take(t.Name)
	}
	for _, m := range w.p.Messages {
		take(m.Type.Name)
	}
	for _, v := range w.p.Vars {
		take(v.Name)
	}
	for _, x := range w.p.Funs {
		take(x.Name)
	}
	for _, x := range w.p.Actions {
		take(x.Name)
	}
	for _, x := range w.p.Props {
		take(x.Name)
	}
}

func ident(name string) syntax.Ident { return syntax.Ident{Name: name} }

func word(name string) *syntax.Expr { return &syntax.Expr{Kind: syntax.NameExpr, Name: name} }

func (w *writer) types(f *syntax.File) {
	for _, t := range w.p.Enums {
		d := &syntax.Decl{Kind: syntax.EnumDecl, Name: t.Name}
		for _, v := range t.Values {
			d.Names = append(d.Names, ident(v))
		}
		f.Decls = append(f.Decls, d)
	}
	for _, t := range w.p.Records {
		f.Decls = append(f.Decls, &syntax.Decl{Kind: syntax.RecordDecl, Name: t.Name, Fields: w.fields(t.Fields)})
	}
	for _, m := range w.p.Messages {
		tag := &syntax.Tag{Phase: word(m.Type.Fields[m.Phase].Name), Round: ident(w.p.Rounds[m.Round].Name)}
		f.Decls = append(f.Decls, &syntax.Decl{Kind: syntax.MessageDecl, Name: m.Type.Name, Fields: w.fields(m.Type.Fields),
			Tags: []*syntax.Tag{tag}})
	}
	rounds := &syntax.Decl{Kind: syntax.RoundsDecl}
	for _, r := range w.p.Rounds {
		rounds.Names = append(rounds.Names, ident(r.Name))
	}
	if w.p.Lockstep {
		rounds.Expr = number(w.p.First)
	}
	f.Decls = append(f.Decls, rounds)
	if w.p.Phase >= 0 {
		f.Decls = append(f.Decls, &syntax.Decl{Kind: syntax.PhaseDecl, Name: w.p.Vars[w.p.Phase].Name})
	}
}

func number(n int64) *syntax.Expr {
	if n < 0 {
		return &syntax.Expr{Kind: syntax.UnaryExpr, Name: "-", Args: []*syntax.Expr{number(-n)}}
	}
	return &syntax.Expr{Kind: syntax.IntExpr, Int: n}
}

func (w *writer) fields(list []core.Field) []*syntax.Field {
	var out []*syntax.Field
	for _, f := range list {
		out = append(out, &syntax.Field{Name: f.Name, Type: w.typ(f.Type)})
	}
	return out
}

func (w *writer) typ(t *core.Type) *syntax.TypeExpr {
	switch t.Kind {
	case core.Option:
		out := *w.typ(t.Elem)
		out.Optional = true
		return &out
	case core.Seq:
		return &syntax.TypeExpr{Name: "seq", Arg: w.typ(t.Elem)}
	case core.Set:
		return &syntax.TypeExpr{Name: "set", Arg: w.typ(t.Elem)}
	case core.Int:
		out := &syntax.TypeExpr{Name: "int"}
		if t.Low != nil {
			b := w.body(nil)
			out.Range = &syntax.Expr{Kind: syntax.BinaryExpr, Name: "..", Args: []*syntax.Expr{b.expr(t.Low), b.expr(t.High)}}
		}
		return out
	case core.Bool, core.Node, core.Enum, core.Record, core.Message:
	}
	return &syntax.TypeExpr{Name: t.Name}
}

func (w *writer) state(f *syntax.File) {
	d := &syntax.Decl{Kind: syntax.StateDecl}
	for i, v := range w.p.Vars {
		if i == w.p.Output {
			continue
		}
		field := &syntax.Field{Name: v.Name, Type: w.typ(v.Type)}
		if v.Init != nil {
			field.Value = w.body(nil).expr(v.Init)
		}
		d.Fields = append(d.Fields, field)
	}
	f.Decls = append(f.Decls, d)
	if t := w.p.OutputType(); t != nil {
		f.Decls = append(f.Decls, &syntax.Decl{Kind: syntax.OutputDecl, Type: w.typ(t)})
	}
}

func (w *writer) code(f *syntax.File) {
	for _, x := range w.p.Funs {
		b := w.body(x.Params)
		f.Decls = append(f.Decls, &syntax.Decl{Kind: syntax.FunDecl, Name: x.Name, Fields: b.params(x.Params),
			Type: w.typ(x.Result), Expr: b.expr(x.Body)})
	}
	for _, a := range w.p.Actions {
		b := w.body(a.Params)
		f.Decls = append(f.Decls, &syntax.Decl{Kind: syntax.ActionDecl, Name: a.Name, Fields: b.params(a.Params),
			Body: b.stmts(a.Body)})
	}
	if len(w.p.Init.Body) > 0 {
		f.Decls = append(f.Decls, &syntax.Decl{Kind: syntax.InitDecl, Body: w.body(nil).stmts(w.p.Init.Body)})
	}
	for _, r := range w.p.Rounds {
		if w.p.Lockstep {
			f.Decls = append(f.Decls, &syntax.Decl{Kind: syntax.RoundDecl, Name: r.Name, First: w.body(nil).stmts(r.Send),
				Body: w.body(nil).stmts(r.Update)})
		}
	}
}

// networks declares what is not there anyway, and says which one is used.
func (w *writer) networks(f *syntax.File) {
	given := map[string]bool{}
	for _, n := range w.p.Networks {
		given[n.Name] = true
	}
	for i, n := range w.p.Networks {
		w.nets = append(w.nets, n.Name)
		if n.Built {
			continue
		}
		if strings.ContainsAny(n.Name, " (:") {
			w.nets[i] = w.fresh("Given", given) // a formula from the command line
		}
		f.Decls = append(f.Decls, &syntax.Decl{Kind: syntax.NetworkDecl, Name: w.nets[i],
			Formula: w.body(nil).expr(n.Formula)})
	}
	used, _ := syntax.ParseExpr(w.nets[w.p.Network])
	d := &syntax.Decl{Kind: syntax.NetworkDecl, Name: used.Name}
	if len(used.Args) > 0 {
		d.Expr = used.Args[0]
	}
	f.Decls = append(f.Decls, d)
}

func (w *writer) properties(f *syntax.File) {
	for _, q := range w.p.Props {
		d := &syntax.Decl{Kind: syntax.PropertyDecl, Name: q.Name}
		b := w.body(nil)
		if q.Moment == core.OnOutput {
			d.Output = b.bind(core.Binder{Slot: 0, Name: q.Bound})
		}
		d.Expr = b.expr(q.X)
		f.Decls = append(f.Decls, d)
	}
}

func (w *writer) test(t *core.Test) *syntax.Decl {
	d := &syntax.Decl{Kind: syntax.TestDecl, Name: t.Name}
	set := func(name string, value *syntax.Expr) {
		d.Fields = append(d.Fields, &syntax.Field{Name: name, Value: value})
	}
	for _, q := range w.p.Params {
		if v, ok := t.Params[q.Name]; ok {
			set(q.Name, number(v))
		}
	}
	if t.Phases > 0 {
		set("phases", number(int64(t.Phases)))
	}
	if t.Network >= 0 {
		e, _ := syntax.ParseExpr(w.nets[t.Network])
		set("network", e)
	}
	if t.Expect != "" {
		set("expect", word(t.Expect))
	}
	return d
}

// fresh finds a name that is neither taken nor open.
func (w *writer) fresh(name string, open map[string]bool) string {
	name = strings.TrimLeft(name, "$")
	if name == "" {
		name = "it"
	}
	out := name
	for i := 2; w.taken[out] || open[out]; i++ {
		out = fmt.Sprint(name, i)
	}
	return out
}
