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
func (w *painter) declare() {
	for _, m := range w.p.Messages {
		w.shade(m.Type).fields[m.Phase].mark(m.Pos, phased)
		for _, f := range m.Type.Fields {
			w.kept = w.kept || holdsMessages(f.Type, map[string]bool{})
		}
	}
	for _, v := range w.p.Vars {
		w.vars = append(w.vars, w.shade(v.Type))
		w.kept = w.kept || holdsMessages(v.Type, map[string]bool{})
	}
	if w.p.Phase >= 0 {
		w.vars[w.p.Phase].mark(w.p.Vars[w.p.Phase].Pos, phased)
	}
	params := func(list []core.Field) (out []*shade) {
		for _, f := range list {
			out = append(out, w.shade(f.Type))
		}
		return out
	}
	for _, f := range w.p.Funs {
		w.funs = append(w.funs, painted{params(f.Params), w.shade(f.Result)})
	}
	for _, a := range w.p.Actions {
		w.actions = append(w.actions, painted{params: params(a.Params)})
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
func (w *painter) shade(t *core.Type) *shade {
	switch t.Kind {
	case core.Int:
		k := &kind{named: map[int64]bool{}}
		if t.Low != nil {
			k.apart = ranged // where, is not known here
		}
		return &shade{number: k}
	case core.Option, core.Seq, core.Set:
		return &shade{elem: w.shade(t.Elem)}
	case core.Record, core.Message:
		s := w.declared[t.Name]
		if s == nil {
			s = &shade{sender: t.Kind == core.Message}
			w.declared[t.Name] = s
			for _, f := range t.Fields {
				s.fields = append(s.fields, w.shade(f.Type))
			}
		}
		return s
	case core.Bool, core.Node, core.Enum:
	}
	return nil
}

// zero names what a variable without a first value holds.
func (w *painter) zero(s *shade, t *core.Type) {
	switch t.Kind {
	case core.Int:
		s.number.root().named[0] = true
	case core.Record, core.Message:
		for i, f := range t.Fields {
			w.zero(s.fields[i], f.Type)
		}
	case core.Bool, core.Node, core.Enum, core.Option, core.Seq, core.Set:
	}
}

// open begins a body with its parameters.
func (w *painter) open(params []*shade) {
	w.slots = map[int]*shade{}
	for i, s := range params {
		w.slots[i] = s
	}
}

// byOrder notes that the elements of a collection are looked at in an order that matters. In a set that is the order
// of their values, but for messages, which are in the order of their senders: of one sender there is one, unless the
// program keeps old ones.
func (w *painter) byOrder(of core.Expr, s *shade) {
	if of.Of().Kind == core.Set && s.elem != nil && (!s.elem.sender || w.kept) {
		s.elem.mark(of.At(), listed)
	}
}

func (w *painter) expr(e core.Expr) *shade {
	switch x := e.(type) {
	case *core.Const:
		s := w.shade(x.Type)
		s.name(x.Type, x.Value)
		return s
	case *core.Local:
		s, ok := w.slots[x.Slot]
		if !ok {
			panic(fmt.Sprintf("symmetry: the name at %s is not bound", x.Pos))
		}
		return s
	case *core.Param:
		s := w.shade(x.Type)
		s.name(x.Type, core.Value{N: w.param(x)})
		return s
	case *core.Var:
		return w.vars[x.Index]
	case *core.NodeVar:
		w.expr(x.Node)
		return w.vars[x.Index]
	case *core.Get:
		return w.expr(x.X).fields[x.Index]
	case *core.Make:
		return w.all(w.shade(x.Type), x.Args)
	case *core.Apply:
		return w.apply(x)
	case *core.Call:
		w.give(w.funs[x.Fun].params, x.Args)
		return w.funs[x.Fun].result
	case *core.If:
		w.expr(x.Cond)
		s := w.expr(x.Then)
		unify(s, w.expr(x.Else))
		return s
	case *core.Mail:
		return &shade{elem: w.shade(w.p.Messages[x.Message].Type)}
	case *core.Fit:
		s := w.expr(x.X)
		s.mark(x.Pos, ranged)
		return s
	}
	return w.binding(e)
}

// all gives values to the fields of a record.
func (w *painter) all(s *shade, args []core.Expr) *shade {
	w.give(s.fields, args)
	return s
}

// give hands values over.
func (w *painter) give(to []*shade, args []core.Expr) {
	for i, a := range args {
		unify(to[i], w.expr(a))
	}
}

// binding are the expressions that bind names.
func (w *painter) binding(e core.Expr) *shade {
	switch x := e.(type) {
	case *core.Build:
		set := w.expr(x.Set)
		w.slots[x.Slot.Slot] = set.elem
		if x.Cond != nil {
			w.expr(x.Cond)
		}
		return &shade{elem: w.expr(x.Elem)}
	case *core.Quant:
		set := w.expr(x.Set)
		for _, b := range x.Slots {
			w.slots[b.Slot] = set.elem
		}
		w.byOrderIf(x.Set, set, x.Kind != core.Count && !total(x.Body))
		w.expr(x.Body)
		return w.number(x)
	case *core.Best:
		set := w.expr(x.Set)
		w.slots[x.Slot.Slot] = set.elem
		w.byOrder(x.Set, set) // of equally good ones the first
		for _, k := range x.Keys {
			w.expr(k).mark(k.At(), compared)
		}
		if len(x.Keys) == 0 {
			set.elem.mark(x.Pos, compared)
		}
		return set.elem
	}
	panic(fmt.Sprintf("symmetry: no shade for %T", e))
}

func (w *painter) byOrderIf(of core.Expr, s *shade, matters bool) {
	if matters {
		w.byOrder(of, s)
	}
}

// number is the shade of a result that is computed; nil where it is no number.
func (w *painter) number(e core.Expr) *shade {
	s := w.shade(e.Of())
	s.mark(e.At(), counted)
	return s
}

func (w *painter) param(x *core.Param) int64 { return w.params[w.p.Params[x.Index].Name] }

// constant evaluates a number that stands in the text or is a parameter.
func (w *painter) constant(e core.Expr) (v int64, ok bool) {
	switch x := e.(type) {
	case *core.Const:
		return x.Value.N, x.Type.Kind == core.Int
	case *core.Param:
		return w.param(x), true
	case *core.Apply:
		if x.Op == core.Neg {
			v, ok = w.constant(x.Args[0])
			return -v, ok
		}
	}
	return 0, false
}

// literal is a set of numbers that stands in the text: {0, 1} or 1..values.
func (w *painter) literal(x *core.Apply) (elems []core.Value, ok bool) {
	if x.Type.Kind != core.Set || x.Type.Elem.Kind != core.Int {
		return nil, false
	}
	for _, a := range x.Args {
		v, constant := w.constant(a)
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

func (w *painter) apply(x *core.Apply) *shade {
	if elems, ok := w.literal(x); ok {
		s := w.shade(x.Type)
		s.together(elems)
		return s
	}
	if v, ok := w.constant(x); ok {
		s := w.shade(x.Type)
		s.name(x.Type, core.Value{N: v})
		return s
	}
	args := make([]*shade, len(x.Args))
	for i, a := range x.Args {
		args[i] = w.expr(a)
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
		s := w.shade(x.Type)
		for _, a := range args {
			unify(s.elem, a)
		}
		return s
	case core.Some:
		return &shade{elem: args[0]}
	case core.The, core.Choose:
		return args[0].elem
	case core.First, core.Last, core.Index:
		w.byOrder(x.Args[0], args[0])
		if x.Op == core.Index {
			args[1].mark(x.Args[1].At(), counted)
		}
		return args[0].elem
	case core.Len, core.Heard, core.Self, core.All, core.Others, core.Timely, core.Now, core.Not, core.And, core.Or,
		core.Implies, core.From, core.ID:
		return w.number(x)
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
	return w.number(x)
}

func (w *painter) stmts(list []core.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *painter) stmt(s core.Stmt) {
	switch s := s.(type) {
	case *core.Assign:
		unify(w.vars[s.Var], w.expr(s.X))
	case *core.Let:
		w.slots[s.Slot.Slot] = w.expr(s.X)
	case *core.Branch:
		w.expr(s.Cond)
		w.stmts(s.Then)
		w.stmts(s.Else)
	case *core.For:
		set := w.expr(s.X)
		w.byOrderIf(s.X, set, !commutes(s))
		w.slots[s.Slot.Slot] = set.elem
		w.stmts(s.Body)
	case *core.Send:
		w.give(w.shade(w.p.Messages[s.Message].Type).fields, s.Args)
		w.expr(s.To)
	case *core.Output:
		unify(w.vars[w.p.Output].elem, w.expr(s.X))
	case *core.Do:
		w.give(w.actions[s.Action].params, s.Args)
	case *core.Assert:
		w.expr(s.X)
	case *core.Try:
		w.stmts(s.Body)
		w.expr(s.Ensure)
		w.stmts(s.Else)
	default:
		panic(fmt.Sprintf("symmetry: nothing is known about %T", s))
	}
}
