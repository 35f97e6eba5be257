package check

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// networks are those that every program has. The arguments of those with one stand for `$k`.
var networks = []struct{ name, formula string }{
	{"any", "true"},
	{"own", "forall p in all: p in heard(p)"},
	{"reliable", "forall p in all: heard(p) == all"},
	{"atleast", "forall p in all: len(heard(p)) >= count_"},
	{"kernel", "exists k in all: forall p in all: k in heard(p)"},
	{"mutual", "exists k in all: forall p in all: k in heard(p) and p in heard(k)"},
}

func networkNames() []string {
	var out []string
	for _, n := range networks {
		out = append(out, n.name)
	}
	return out
}

const takesNumber = "atleast"

// networkDecl enters a declared network, or notes which one the program uses.
func (c *checker) networkDecl(d *syntax.Decl) {
	if d.Formula == nil {
		c.prog.Network = c.namedNetwork(d.Pos, d.Name, d.Expr)
		return
	}
	if slices.Contains(networkNames(), d.Name) {
		c.Errorf(d.Pos, "names", "network %s is there already; give yours another name", d.Name)
		return
	}
	for _, n := range c.prog.Networks {
		if n.Name == d.Name {
			c.Errorf(d.Pos, "names", "network %s is declared twice", d.Name)
			return
		}
	}
	n := &core.Network{Pos: d.Pos, Name: d.Name, Formula: c.formula(d.Formula)}
	if n.Formula == nil {
		return
	}
	c.prog.Networks = append(c.prog.Networks, n)
	if c.prog.Network < 0 {
		c.prog.Network = len(c.prog.Networks) - 1 // the first one declared, unless one is named
	}
}

func (c *checker) formula(e *syntax.Expr) (out core.Expr) {
	c.within(place{hear: true}, func() { out = c.Infer(e, core.BoolType) })
	return out
}

// namedNetwork finds a network by the name under which it is used; a new use of one that every program has is entered.
func (c *checker) namedNetwork(pos syntax.Pos, name string, arg *syntax.Expr) int {
	written := name
	if arg != nil {
		written = fmt.Sprintf("%s(%s)", name, arg)
	}
	for i, n := range c.prog.Networks {
		if n.Name == written {
			return i
		}
	}
	for _, n := range networks {
		if n.name != name {
			continue
		}
		if (name == takesNumber) != (arg != nil) {
			c.Errorf(pos, "types", "network atleast, and only it, takes a number: network atleast(n - f)")
			return 0
		}
		e, _ := syntax.ParseExpr(n.formula)
		x := c.formula(fill(e, arg))
		if x == nil {
			return 0
		}
		c.prog.Networks = append(c.prog.Networks, &core.Network{Pos: pos, Name: written, Formula: x, Built: true})
		return len(c.prog.Networks) - 1
	}
	names := networkNames()
	for _, n := range c.prog.Networks {
		if !n.Built {
			names = append(names, n.Name)
		}
	}
	c.Errorf(pos, "names",
		"unknown network %s%s; known are any, own, reliable, atleast(k), kernel, mutual and those declared as network "+
			"Name: formula",
		name, syntax.Suggest(name, names))
	return 0
}

// fill puts the argument in its place, and gives the bound names of the formula a form that hides nothing.
func fill(e, arg *syntax.Expr) *syntax.Expr {
	out := *e
	if e.Kind == syntax.NameExpr && e.Name == "count_" {
		return arg
	}
	if e.Kind == syntax.NameExpr && (e.Name == "p" || e.Name == "k") {
		out.Name = "$" + e.Name
	}
	out.Vars = nil
	for _, v := range e.Vars {
		out.Vars = append(out.Vars, syntax.Ident{Pos: v.Pos, Name: "$" + v.Name})
	}
	out.Args = nil
	for _, a := range e.Args {
		out.Args = append(out.Args, fill(a, arg))
	}
	return &out
}

// ParseNetwork reads a network assumption written outside the program: the name of one, such as "reliable", "atleast(n
// - f)" or one that the program declares, or a formula. It returns its index in Networks.
func (p *Program) ParseNetwork(text string) (int, error) {
	e, errs := syntax.ParseExpr(text)
	if len(errs) > 0 {
		return 0, fmt.Errorf("network %q: %s", text, errs[0].Text)
	}
	c := &checker{prog: p, params: map[string]int{}, funs: map[string]int{}, taken: map[string]syntax.Pos{}}
	for i, q := range p.Params {
		c.params[q.Name] = i
	}
	for i, f := range p.Funs {
		c.funs[f.Name] = i
	}
	var i int
	switch {
	case e.Kind == syntax.NameExpr && e.Name != "true":
		i = c.namedNetwork(e.Pos, e.Name, nil)
	case e.Kind == syntax.CallExpr && len(e.Args) == 1:
		i = c.namedNetwork(e.Pos, e.Name, e.Args[0])
	default:
		if x := c.formula(e); x != nil {
			i = len(p.Networks)
			p.Networks = append(p.Networks, &core.Network{Name: text, Formula: x})
		}
	}
	if len(c.diags) > 0 {
		return 0, fmt.Errorf("network %q: %s", text, c.diags[0].Text)
	}
	return i, nil
}
