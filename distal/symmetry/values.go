package symmetry

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/core"
)

// painter gives shades to all expressions of a program.
type painter struct {
	p        *core.Program
	params   map[string]int64
	declared map[string]*shade // of records and messages
	vars     []*shade
	funs     []painted
	actions  []painted
	slots    map[int]*shade // names bound in the body being looked at
	kept     bool           // messages are kept, in variables or in other messages
}

// painted are the shades of what a function or action takes and gives.
type painted struct {
	params []*shade
	result *shade
}

// What distinguishes numbers.
const (
	counted  = "one is used to count or compute"
	compared = "they are compared by size"
	listed   = "they are looked at in order"
	ranged   = "their range is declared"
	phased   = "they are phases"
)

// paint finds the kinds of numbers in a lock-step program and returns the shades of its variables.
func paint(p *core.Program, params map[string]int64) []*shade {
	w := &painter{p: p, params: params, declared: map[string]*shade{}}
	w.declare()
	for i, v := range p.Vars {
		w.slots = map[int]*shade{}
		if v.Init != nil {
			unify(w.vars[i], w.expr(v.Init))
		} else {
			w.zero(w.vars[i], v.Type)
		}
	}
	for i, f := range p.Funs {
		w.open(w.funs[i].params)
		unify(w.funs[i].result, w.expr(f.Body))
	}
	for i, a := range p.Actions {
		w.open(w.actions[i].params)
		w.stmts(a.Body)
	}
	w.open(nil)
	w.stmts(p.Init.Body)
	for _, r := range p.Rounds {
		w.open(nil)
		w.stmts(r.Send)
		w.open(nil)
		w.stmts(r.Update)
	}
	for _, q := range p.Props {
		w.open(nil)
		if q.Moment == core.OnOutput {
			w.open([]*shade{w.vars[p.Output].elem})
		}
		w.expr(q.X)
	}
	return w.vars
}

// declare makes shades for all that is declared.
func (p *painter) declare() {
	for _, m := range p.p.Messages {
		p.shade(m.Type).fields[m.Phase].mark(m.Pos, phased)
		for _, f := range m.Type.Fields {
			p.kept = p.kept || holdsMessages(f.Type, map[string]bool{})
		}
	}
	for _, v := range p.p.Vars {
		p.vars = append(p.vars, p.shade(v.Type))
		p.kept = p.kept || holdsMessages(v.Type, map[string]bool{})
	}
	if p.p.Phase >= 0 {
		p.vars[p.p.Phase].mark(p.p.Vars[p.p.Phase].Pos, phased)
	}
	params := func(list []core.Field) (out []*shade) {
		for _, f := range list {
			out = append(out, p.shade(f.Type))
		}
		return out
	}
	for _, f := range p.p.Funs {
		p.funs = append(p.funs, painted{params(f.Params), p.shade(f.Result)})
	}
	for _, a := range p.p.Actions {
		p.actions = append(p.actions, painted{params: params(a.Params)})
	}
}

// holdsMessages says whether values of a type hold messages.
func holdsMessages(t *core.Type, seen map[string]bool) bool {
	if t.Kind == core.Message {
		return true
	}
	if t.Elem != nil {
		return holdsMessages(t.Elem, seen)
	}
	if t.Kind != core.Record || seen[t.Name] {
		return false
	}
	seen[t.Name] = true
	for _, f := range t.Fields {
		if holdsMessages(f.Type, seen) {
			return true
		}
	}
	return false
}

// shade makes a new shade for a type; a record or message has one wherever it is.
func (p *painter) shade(t *core.Type) *shade {
	switch t.Kind {
	case core.Int:
		k := &kind{named: map[int64]bool{}}
		if t.Low != nil {
			k.apart = ranged // where, is not known here
		}
		return &shade{number: k}
	case core.Option, core.Seq, core.Set:
		return &shade{elem: p.shade(t.Elem)}
	case core.Record, core.Message:
		s := p.declared[t.Name]
		if s == nil {
			s = &shade{sender: t.Kind == core.Message}
			p.declared[t.Name] = s
			for _, f := range t.Fields {
				s.fields = append(s.fields, p.shade(f.Type))
			}
		}
		return s
	case core.Bool, core.Node, core.Enum:
	}
	return nil
}

// zero names what a variable without a first value holds.
func (p *painter) zero(s *shade, t *core.Type) {
	switch t.Kind {
	case core.Int:
		s.number.root().named[0] = true
	case core.Record, core.Message:
		for i, f := range t.Fields {
			p.zero(s.fields[i], f.Type)
		}
	case core.Bool, core.Node, core.Enum, core.Option, core.Seq, core.Set:
	}
}

// open begins a body with its parameters.
func (p *painter) open(params []*shade) {
	p.slots = map[int]*shade{}
	for i, s := range params {
		p.slots[i] = s
	}
}

// byOrder notes that the elements of a collection are looked at in an order that matters. In a set that is the order
// of their values, but for messages, which are in the order of their senders: of one sender there is one, unless the
// program keeps old ones.
func (p *painter) byOrder(of core.Expr, s *shade) {
	if of.Of().Kind == core.Set && s.elem != nil && (!s.elem.sender || p.kept) {
		s.elem.mark(of.At(), listed)
	}
}

func (p *painter) expr(e core.Expr) *shade {
	switch x := e.(type) {
	case *core.Const:
		s := p.shade(x.Type)
		s.name(x.Type, x.Value)
		return s
	case *core.Local:
		s, ok := p.slots[x.Slot]
		if !ok {
			panic(fmt.Sprintf("symmetry: the name at %s is not bound", x.Pos))
		}
		return s
	case *core.Param:
		s := p.shade(x.Type)
		s.name(x.Type, core.Value{N: p.param(x)})
		return s
	case *core.Var:
		return p.vars[x.Index]
	case *core.NodeVar:
		p.expr(x.Node)
		return p.vars[x.Index]
	case *core.Get:
		return p.expr(x.X).fields[x.Index]
	case *core.Make:
		return p.all(p.shade(x.Type), x.Args)
	case *core.Apply:
		return p.apply(x)
	case *core.Call:
		p.give(p.funs[x.Fun].params, x.Args)
		return p.funs[x.Fun].result
	case *core.If:
		p.expr(x.Cond)
		s := p.expr(x.Then)
		unify(s, p.expr(x.Else))
		return s
	case *core.Mail:
		return &shade{elem: p.shade(p.p.Messages[x.Message].Type)}
	case *core.Fit:
		s := p.expr(x.X)
		s.mark(x.Pos, ranged)
		return s
	}
	return p.binding(e)
}

// all gives values to the fields of a record.
func (p *painter) all(s *shade, args []core.Expr) *shade {
	p.give(s.fields, args)
	return s
}

// give hands values over.
func (p *painter) give(to []*shade, args []core.Expr) {
	for i, a := range args {
		unify(to[i], p.expr(a))
	}
}

// binding are the expressions that bind names.
func (p *painter) binding(e core.Expr) *shade {
	switch x := e.(type) {
	case *core.Build:
		set := p.expr(x.Set)
		p.slots[x.Slot.Slot] = set.elem
		if x.Cond != nil {
			p.expr(x.Cond)
		}
		return &shade{elem: p.expr(x.Elem)}
	case *core.Quant:
		set := p.expr(x.Set)
		for _, b := range x.Slots {
			p.slots[b.Slot] = set.elem
		}
		p.byOrderIf(x.Set, set, x.Kind != core.Count && !total(x.Body))
		p.expr(x.Body)
		return p.number(x)
	case *core.Best:
		set := p.expr(x.Set)
		p.slots[x.Slot.Slot] = set.elem
		p.byOrder(x.Set, set) // of equally good ones the first
		for _, k := range x.Keys {
			p.expr(k).mark(k.At(), compared)
		}
		if len(x.Keys) == 0 {
			set.elem.mark(x.Pos, compared)
		}
		return set.elem
	}
	panic(fmt.Sprintf("symmetry: no shade for %T", e))
}

func (p *painter) byOrderIf(of core.Expr, s *shade, matters bool) {
	if matters {
		p.byOrder(of, s)
	}
}

// number is the shade of a result that is computed; nil where it is no number.
func (p *painter) number(e core.Expr) *shade {
	s := p.shade(e.Of())
	s.mark(e.At(), counted)
	return s
}

func (p *painter) param(x *core.Param) int64 { return p.params[p.p.Params[x.Index].Name] }

// constant evaluates a number that stands in the text or is a parameter.
func (p *painter) constant(e core.Expr) (v int64, ok bool) {
	switch x := e.(type) {
	case *core.Const:
		return x.Value.N, x.Type.Kind == core.Int
	case *core.Param:
		return p.param(x), true
	case *core.Apply:
		if x.Op == core.Neg {
			v, ok = p.constant(x.Args[0])
			return -v, ok
		}
	}
	return 0, false
}

// literal is a set of numbers that stands in the text: {0, 1} or 1..values.
func (p *painter) literal(x *core.Apply) (elems []core.Value, ok bool) {
	if x.Type.Kind != core.Set || x.Type.Elem.Kind != core.Int {
		return nil, false
	}
	for _, a := range x.Args {
		v, constant := p.constant(a)
		if !constant {
			return nil, false
		}
		elems = append(elems, core.Value{N: v})
	}
	if x.Op == core.Range {
		from, to := elems[0].N, elems[1].N
		elems = nil
		for v := from; v <= to && len(elems) <= mostNumbers; v++ {
			elems = append(elems, core.Value{N: v})
		}
		return elems, len(elems) <= mostNumbers
	}
	return elems, x.Op == core.SetOfAll
}

// mostNumbers is how large a range is looked at.
const mostNumbers = 64

func (p *painter) apply(x *core.Apply) *shade {
	if elems, ok := p.literal(x); ok {
		s := p.shade(x.Type)
		s.together(elems)
		return s
	}
	if v, ok := p.constant(x); ok {
		s := p.shade(x.Type)
		s.name(x.Type, core.Value{N: v})
		return s
	}
	args := make([]*shade, len(x.Args))
	for i, a := range x.Args {
		args[i] = p.expr(a)
	}
	switch x.Op {
	case core.Eq, core.Ne, core.Prefix, core.Comparable:
		unify(args[0], args[1])
		return nil
	case core.In:
		unify(args[0], args[1].elem)
		return nil
	case core.Concat, core.Union, core.Diff:
		unify(args[0], args[1])
		return args[0]
	case core.SetOfAll, core.SeqOfAll:
		s := p.shade(x.Type)
		for _, a := range args {
			unify(s.elem, a)
		}
		return s
	case core.Some:
		return &shade{elem: args[0]}
	case core.The, core.Choose:
		return args[0].elem
	case core.First, core.Last, core.Index:
		p.byOrder(x.Args[0], args[0])
		if x.Op == core.Index {
			args[1].mark(x.Args[1].At(), counted)
		}
		return args[0].elem
	case core.Len, core.Heard, core.Self, core.All, core.Others, core.Timely, core.Now, core.Not, core.And, core.Or,
		core.Implies, core.From, core.ID:
		return p.number(x)
	case core.Lt, core.Le, core.Gt, core.Ge, core.After, core.Neg, core.Range, core.Add, core.Sub, core.Mul, core.Div,
		core.Mod, core.NodeOf:
	}
	// Whatever else there is computes with its operands.
	how := counted
	if core.Operators[x.Op].Symbolic.Relation != core.NoRelation {
		how = compared
	}
	for _, a := range args {
		a.mark(x.Pos, how)
	}
	return p.number(x)
}

func (p *painter) stmts(list []core.Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *painter) stmt(s core.Stmt) {
	switch s := s.(type) {
	case *core.Assign:
		unify(p.vars[s.Var], p.expr(s.X))
	case *core.Let:
		p.slots[s.Slot.Slot] = p.expr(s.X)
	case *core.Branch:
		p.expr(s.Cond)
		p.stmts(s.Then)
		p.stmts(s.Else)
	case *core.For:
		set := p.expr(s.X)
		p.byOrderIf(s.X, set, !commutes(s))
		p.slots[s.Slot.Slot] = set.elem
		p.stmts(s.Body)
	case *core.Send:
		p.give(p.shade(p.p.Messages[s.Message].Type).fields, s.Args)
		p.expr(s.To)
	case *core.Output:
		unify(p.vars[p.p.Output].elem, p.expr(s.X))
	case *core.Do:
		p.give(p.actions[s.Action].params, s.Args)
	case *core.Assert:
		p.expr(s.X)
	case *core.Try:
		p.stmts(s.Body)
		p.expr(s.Ensure)
		p.stmts(s.Else)
	default:
		panic(fmt.Sprintf("symmetry: nothing is known about %T", s))
	}
}
