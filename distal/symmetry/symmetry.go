// Package symmetry proves that a lock-step program treats all nodes alike, or some numbers: whatever it can do, it can
// do with the nodes renamed and the numbers exchanged. A search then needs to look at only one of the states that
// differ so.
//
// Both proofs are walks over the text. For nodes it accepts what cannot distinguishes one node from another (equality,
// sets of nodes, quantifiers, choices) and refuses everything else, with a reason: nodes that are named by a number,
// numbers made of nodes, and whatever depends on the order in which the elements of a set of nodes, or of messages,
// are looked at. For numbers it finds out which ones are of one kind, because they are compared or stored in the same
// places. A kind that is only ever copied and compared for equality has numbers that can be exchanged: those that the
// text mentions only together, in sets from which one is chosen.
package symmetry

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Symmetry is what is known about a program.
type Symmetry struct {
	Nodes    string // why the nodes are not known to be alike; "": they are
	Values   string // why no numbers are known to be alike; "": some are
	Namings  []Naming
	vars     []core.Variable
	shades   []*shade
	affected []bool // by variable: a naming may change it
}

// Naming gives other names to nodes and other values to numbers: node i becomes Nodes[i-1].
type Naming struct {
	Nodes  []int
	number int // 0 changes nothing
}

// mostNamings limits how many ways to give other names are tried: all of so many nodes.
const (
	mostNodes   = 6
	mostNamings = 720
)

// Find looks for symmetries of a lock-step program under a network, for the given parameters.
func Find(p *core.Program, network core.Expr, params map[string]int64) *Symmetry {
	s := &Symmetry{Nodes: Broken(p, network), vars: p.Vars, shades: paint(p, params)}
	n := int(params[p.Params[0].Name])
	if s.Nodes == "" && n > mostNodes {
		s.Nodes = "there are too many nodes to try all names"
	}
	if s.Nodes == "" {
		s.exchange(Namings(n))
	} else {
		same := make([]int, n)
		for i := range same {
			same[i] = i + 1
		}
		s.exchange([][]int{same})
	}
	for i, v := range p.Vars {
		affected := s.Nodes == "" && Nodal(v.Type)
		s.shades[i].kinds(func(k *kind) { affected = affected || len(k.maps) > 0 })
		s.affected = append(s.affected, affected)
	}
	return s
}

// exchange combines the names of nodes with all ways to exchange numbers.
func (s *Symmetry) exchange(names [][]int) {
	type swap struct {
		kind *kind
		maps []map[int64]int64
	}
	var swaps []swap
	size := len(names)
	found := false
	seen := map[*kind]bool{}
	for _, sh := range s.shades {
		sh.kinds(func(k *kind) {
			if seen[k] {
				return
			}
			seen[k] = true
			k.block()
			if s.Values == "" {
				s.Values = k.reason()
			}
			for _, block := range k.blocks {
				if maps := exchanges(block, mostNamings/size); maps != nil {
					swaps = append(swaps, swap{k, maps})
					size *= len(maps)
					found = true
				}
			}
		})
	}
	switch {
	case found:
		s.Values = ""
	case s.Values == "":
		s.Values = "the text names no set of numbers of which one is taken"
	}
	for i := range size {
		at := i / len(names)
		for _, w := range swaps {
			m := w.maps[at%len(w.maps)]
			at /= len(w.maps)
			w.kind.add(i, m)
		}
		s.Namings = append(s.Namings, Naming{names[i%len(names)], i})
	}
}

// add makes a naming exchange more numbers.
func (k *kind) add(naming int, exchanged map[int64]int64) {
	if len(k.maps) == naming {
		k.maps = append(k.maps, map[int64]int64{})
	}
	maps.Copy(k.maps[naming], exchanged)
}

// exchanges lists the ways to exchange the numbers of a block, the one that changes nothing first; nil: there are more
// than most.
func exchanges(block map[int64]bool, most int) []map[int64]int64 {
	list := sorted(block)
	ways := 1
	for i := range list {
		if ways *= i + 1; ways > most {
			return nil
		}
	}
	var out []map[int64]int64
	for _, order := range Namings(len(list)) {
		m := map[int64]int64{}
		for i, v := range list {
			m[v] = list[order[i]-1]
		}
		out = append(out, m)
	}
	return out
}

// Rename gives the variables of a local state what they hold under a naming.
func (s *Symmetry) Rename(vars []core.Value, by Naming) []core.Value {
	out := slices.Clone(vars)
	for i, v := range vars {
		if s.affected[i] {
			out[i] = rename(s.vars[i].Type, s.shades[i], v, by)
		}
	}
	return out
}

func rename(t *core.Type, s *shade, v core.Value, by Naming) core.Value {
	switch t.Kind {
	case core.Node:
		return core.Value{N: int64(by.Nodes[v.N-1])}
	case core.Int:
		if k := s.number.root(); len(k.maps) > 0 {
			if to, ok := k.maps[by.number][v.N]; ok {
				return core.Value{N: to}
			}
		}
		return v
	case core.Option, core.Seq, core.Set:
		out := core.Value{N: v.N}
		for _, e := range v.E {
			out.E = append(out.E, rename(t.Elem, s.elem, e, by))
		}
		if t.Kind == core.Set {
			return core.MakeSet(out.E)
		}
		return out
	case core.Record, core.Message:
		out := core.Value{N: v.N}
		if t.Kind == core.Message {
			out.N = int64(by.Nodes[v.N-1])
		}
		for i, e := range v.E {
			out.E = append(out.E, rename(t.Fields[i].Type, s.fields[i], e, by))
		}
		return out
	case core.Bool, core.Enum:
	}
	return v
}

// Broken returns why a lock-step program under a network is not known to treat all nodes alike; "" when that is proved.
func Broken(p *core.Program, network core.Expr) string {
	// A network is a table by now: it was made without a fault for all that can be heard.
	w := &walker{made: true}
	w.expr(network)
	w.made = false
	for _, v := range p.Vars {
		w.expr(v.Init)
	}
	for _, f := range p.Funs {
		w.expr(f.Body)
	}
	for _, a := range p.Actions {
		w.stmts(a.Body)
	}
	w.stmts(p.Init.Body)
	for _, r := range p.Rounds {
		w.stmts(r.Send)
		w.stmts(r.Update)
	}
	for _, q := range p.Props {
		w.expr(q.X)
	}
	return w.reason
}

type walker struct {
	made   bool   // what is looked at has been evaluated already
	reason string // the first
}

func (w *walker) refuse(pos syntax.Pos, format string, args ...any) {
	if w.reason == "" {
		w.reason = fmt.Sprintf("%s at %s", fmt.Sprintf(format, args...), pos)
	}
}

// Nodal says whether values of a type hold nodes: renaming changes them.
func Nodal(t *core.Type) bool { return nodal(t, map[string]bool{}) }

func nodal(t *core.Type, seen map[string]bool) bool {
	switch t.Kind {
	case core.Node, core.Message: // a message has a sender
		return true
	case core.Option, core.Seq, core.Set:
		return nodal(t.Elem, seen)
	case core.Record:
		if seen[t.Name] {
			return false
		}
		seen[t.Name] = true
		for _, f := range t.Fields {
			if nodal(f.Type, seen) {
				return true
			}
		}
	case core.Bool, core.Int, core.Enum:
	}
	return false
}

// ordered says whether the elements of a collection are in an order that depends on the names of nodes.
func ordered(t *core.Type) bool { return t.Kind == core.Set && Nodal(t.Elem) }

func (w *walker) expr(e core.Expr) {
	switch x := e.(type) {
	case nil:
		return
	case *core.Const:
		if Nodal(x.Type) && (x.Type.Kind == core.Node || len(x.Value.E) > 0) {
			w.refuse(x.Pos, "a node is named")
		}
	case *core.Apply:
		w.apply(x)
	case *core.Quant:
		if ordered(x.Set.Of()) && x.Kind != core.Count && !w.made && !total(x.Body) {
			w.refuse(x.Pos, "%s over nodes ends early, and what it looks at may fail", x.Kind)
		}
	case *core.Get:
		if b, ok := x.X.(*core.Best); ok && settled(b, x.Index) {
			core.Parts(b, w.expr)
			return
		}
	case *core.Best:
		if ordered(x.Set.Of()) {
			w.refuse(x.Pos, "of equally good elements the first in the order of nodes is taken")
		}
	}
	core.Parts(e, w.expr)
}

// settled says whether a field of the best element is the same for all equally good ones: it is one of the keys.
func settled(b *core.Best, field int) bool {
	for _, k := range b.Keys {
		g, ok := k.(*core.Get)
		if !ok || g.Index != field {
			continue
		}
		if l, ok := g.X.(*core.Local); ok && l.Slot == b.Slot.Slot {
			return true
		}
	}
	return false
}

func (w *walker) apply(x *core.Apply) {
	switch x.Op {
	case core.NodeOf:
		w.refuse(x.Pos, "a node is named by its number")
	case core.ID:
		w.refuse(x.Pos, "the number of a node is used")
	case core.First, core.Last, core.Index:
		if ordered(x.Args[0].Of()) {
			w.refuse(x.Pos, "an element is taken by its place in the order of nodes")
		}
	}
}

// total says whether evaluating an expression cannot fail. It knows only what is simple.
func total(e core.Expr) bool {
	ok := true
	core.Walk(e, func(x core.Expr) {
		switch x := x.(type) {
		case *core.Call, *core.Best, *core.Fit, *core.Build, *core.Mail:
			ok = false
		case *core.Apply:
			switch x.Op {
			case core.Self, core.All, core.Others, core.Timely, core.Now, core.After, core.Heard, core.Not, core.And, core.Or,
				core.Implies,
				core.Eq, core.Ne, core.Lt, core.Le, core.Gt, core.Ge, core.In, core.Prefix, core.From, core.Len, core.Some,
				core.Comparable,
				core.SetOfAll, core.SeqOfAll, core.Union, core.Diff:
			default:
				ok = false
			}
		}
	})
	return ok
}

func (w *walker) stmts(list []core.Stmt) {
	core.WalkStmts(list, func(s core.Stmt) {
		core.Exprs(s, w.expr)
		if f, ok := s.(*core.For); ok && ordered(f.X.Of()) && !commutes(f) {
			w.refuse(f.Pos, "a loop over a set of nodes may depend on their order")
		}
	})
}

// commutes says whether the passes of a loop may come in any order: each only sends, adds to sets that no pass reads,
// or sets a variable to what is the same in all passes.
func commutes(f *core.For) bool {
	added := map[int]bool{}
	ok := true
	for _, s := range f.Body {
		switch s := s.(type) {
		case *core.Let, *core.Send:
		case *core.Assign:
			u, union := s.X.(*core.Apply)
			switch {
			case same(s.X):
			case union && u.Op == core.Union && reads(u.Args[0], s.Var) && !mentions(u.Args[1], s.Var):
			default:
				ok = false
			}
			added[s.Var] = true
		default:
			ok = false
		}
	}
	for _, s := range f.Body {
		core.Exprs(s, func(e core.Expr) {
			if a, union := e.(*core.Apply); union && a.Op == core.Union {
				if v, ok := a.Args[0].(*core.Var); ok && added[v.Index] {
					e = a.Args[1]
				}
			}
			core.Walk(e, func(x core.Expr) {
				v, read := x.(*core.Var)
				ok = ok && !(read && added[v.Index])
				a, op := x.(*core.Apply)
				ok = ok && !(op && a.Op == core.Choose)
			})
		})
	}
	return ok
}

// same says whether an expression has one value in all passes of a loop.
func same(e core.Expr) bool {
	switch x := e.(type) {
	case *core.Const:
		return true
	case *core.Apply:
		return x.Op == core.Now
	}
	return false
}

func reads(e core.Expr, v int) bool {
	x, ok := e.(*core.Var)
	return ok && x.Index == v
}

func mentions(e core.Expr, v int) bool {
	found := false
	core.Walk(e, func(x core.Expr) { found = found || reads(x, v) })
	return found
}

// Namings lists all ways to rename n nodes, the one that changes nothing first.
func Namings(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var out [][]int
	for _, rest := range Namings(n - 1) {
		for at := n - 1; at >= 0; at-- {
			one := append(append(append([]int{}, rest[:at]...), n), rest[at:]...)
			out = append(out, one)
		}
	}
	return out
}
