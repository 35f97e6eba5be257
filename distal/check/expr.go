package check

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Infer lowers e. want, if not nil, is the type needed; empty literals take it, others must equal it. The result is nil
// after an error that has been reported.
func (c *checker) Infer(e *syntax.Expr, want *core.Type) core.Expr {
	x := c.lower(e, want)
	if x == nil {
		return nil
	}
	if t := x.Of(); want != nil && !t.Equal(want) {
		hint := ""
		if want.Kind == core.Option && t.Equal(want.Elem) {
			hint = "; write some(...)"
		}
		c.Errorf(e.Pos, "types", "%s has type %s, but %s is needed%s", e, t, want, hint)
		return nil
	}
	return x
}

// stored lowers an expression whose value goes where a range may be declared.
func (c *checker) stored(e *syntax.Expr, t *core.Type) core.Expr {
	x := c.Infer(e, t)
	if x == nil || !t.Ranged() {
		return x
	}
	return &core.Fit{Info: core.Info{Pos: e.Pos, Type: t}, X: x}
}

func (c *checker) lower(e *syntax.Expr, want *core.Type) core.Expr {
	at := core.Info{Pos: e.Pos}
	switch e.Kind {
	case syntax.IntExpr:
		at.Type = core.IntType
		return &core.Const{Info: at, Value: core.Value{N: e.Int}}
	case syntax.NameExpr:
		return c.name(e, want)
	case syntax.UnaryExpr:
		return c.operator(core.Unary, e, want)
	case syntax.BinaryExpr:
		return c.operator(core.Binary, e, want)
	case syntax.CallExpr:
		return c.callExpr(e, want)
	case syntax.FieldExpr:
		return c.fieldExpr(e)
	case syntax.DotExpr:
		t := c.scope.place.dot
		if t == nil {
			c.Errorf(e.Pos, "types", "'.%s' is a field of the counted message; it stands only in the guard of a rule with times",
				e.Name)
			return nil
		}
		return c.member(e, &core.Local{Info: core.Info{Pos: e.Pos, Type: t}, Slot: 1})
	case syntax.IndexExpr:
		x, i := c.Infer(e.Args[0], nil), c.Infer(e.Args[1], core.IntType)
		if x == nil || i == nil {
			return nil
		}
		if x.Of().Kind != core.Seq {
			c.Errorf(e.Pos, "types", "only a sequence can be indexed, not %s", x.Of())
			return nil
		}
		at.Type = x.Of().Elem
		return &core.Apply{Info: at, Op: core.Index, Args: []core.Expr{x, i}}
	case syntax.SetExpr, syntax.SeqExpr:
		return c.literal(e, want)
	case syntax.IfExpr:
		return c.conditional(e, want)
	case syntax.BuildExpr, syntax.QuantExpr, syntax.BestExpr:
		return c.binding(e)
	}
	panic(fmt.Sprintf("check: an expression of kind %d", e.Kind))
}

// operator finds the row of an operator and lets it check its operands.
func (c *checker) operator(form core.Form, e *syntax.Expr, want *core.Type) core.Expr {
	row, ok := core.Written(form, e.Name)
	if !ok {
		c.Errorf(e.Pos, "types", "unknown operator %s", e.Name)
		return nil
	}
	return row.Typing(c, e, want)
}

func (c *checker) name(e *syntax.Expr, want *core.Type) core.Expr {
	at := core.Info{Pos: e.Pos}
	switch e.Name {
	case "true", "false":
		at.Type = core.BoolType
		return &core.Const{Info: at, Value: core.Truth(e.Name == "true")}
	case "none":
		if want == nil || want.Kind != core.Option {
			c.Errorf(e.Pos, "types", "none is a value of an optional type, which is not needed here")
			return nil
		}
		at.Type = want
		return &core.Const{Info: at}
	}
	if i := c.scope.find(e.Name); i >= 0 {
		at.Type = c.scope.typs[i]
		if at.Type == nil {
			return nil
		}
		return &core.Local{Info: at, Slot: c.scope.slots[i]}
	}
	if row, ok := core.Written(core.Word, e.Name); ok {
		return row.Typing(c, e, want)
	}
	if i, ok := c.vars[e.Name]; ok {
		if !c.scope.place.state {
			c.Errorf(e.Pos, "names", "%s is local state, which cannot be read here", e.Name)
		}
		at.Type = c.prog.Vars[i].Type
		return &core.Var{Info: at, Index: i}
	}
	if i, ok := c.params[e.Name]; ok {
		at.Type = core.IntType
		return &core.Param{Info: at, Index: i}
	}
	if v, ok := c.enums[e.Name]; ok {
		at.Type = v.typ
		return &core.Const{Info: at, Value: core.Value{N: int64(v.index)}}
	}
	names := append(append(append(keys(c.vars), keys(c.params)...), keys(c.enums)...), c.scope.names...)
	c.Errorf(e.Pos, "names", "unknown name %s%s", e.Name, syntax.Suggest(e.Name, names))
	return nil
}

// May reports what may not stand here.
func (c *checker) May(what core.Permission, e *syntax.Expr) bool {
	p := c.scope.place
	ok, complaint := false, ""
	switch what {
	case core.MayAct:
		ok, complaint = p.state || p.selfOnly, e.Name+" has no meaning here: no node acts"
	case core.MayChoose:
		ok, complaint = p.choose, "choose stands only in actions and initial values"
	case core.MayAge:
		ok, complaint = p.timely, "timely stands only in the guard of a rule on messages"
	case core.MayHear:
		ok, complaint = p.hear, "heard stands only in networks"
	case core.MayStep:
		ok, complaint = p.step, e.Name+" stands only in lock-step programs"
	}
	if !ok {
		c.Errorf(e.Pos, "names", "%s", complaint)
	}
	return ok
}

// Round finds a round by its name.
func (c *checker) Round(e *syntax.Expr) (core.Expr, bool) {
	before := len(c.diags)
	r := c.round(syntax.Ident{Pos: e.Pos, Name: e.Name})
	return &core.Const{Info: core.Info{Pos: e.Pos, Type: core.IntType}, Value: core.Value{N: int64(r)}},
		len(c.diags) == before
}

// emptyLiteral says whether e takes its type from where it stands.
func emptyLiteral(e *syntax.Expr) bool {
	return len(e.Args) == 0 && (e.Kind == syntax.SetExpr || e.Kind == syntax.SeqExpr) ||
		e.Kind == syntax.NameExpr && e.Name == "none"
}

// Same lowers two operands that must have the same type.
func (c *checker) Same(e *syntax.Expr, want *core.Type) []core.Expr {
	a, b := e.Args[0], e.Args[1]
	if emptyLiteral(a) && want == nil {
		y := c.Infer(b, nil)
		if y == nil {
			return nil
		}
		x := c.Infer(a, y.Of())
		if x == nil {
			return nil
		}
		return []core.Expr{x, y}
	}
	x := c.Infer(a, want)
	if x == nil {
		if !emptyLiteral(b) {
			c.Infer(b, nil)
		}
		return nil
	}
	y := c.Infer(b, x.Of())
	if y == nil {
		return nil
	}
	return []core.Expr{x, y}
}

// Elements lowers a collection and returns the type of what is in it.
func (c *checker) Elements(e *syntax.Expr) (core.Expr, *core.Type) {
	x := c.Infer(e, nil)
	if x == nil {
		return nil, nil
	}
	t := x.Of()
	if t.Kind != core.Set && t.Kind != core.Seq {
		c.Errorf(e.Pos, "types", "%s has type %s, but a set or sequence is needed", e, t)
		return nil, nil
	}
	return x, t.Elem
}

func (c *checker) fieldExpr(e *syntax.Expr) core.Expr {
	x := c.Infer(e.Args[0], nil)
	if x == nil {
		return nil
	}
	if x.Of().Kind == core.Node {
		return c.nodeField(e, x)
	}
	return c.member(e, x)
}

// nodeField is p.variable or p.output in a property.
func (c *checker) nodeField(e *syntax.Expr, node core.Expr) core.Expr {
	p := c.scope.place
	if !p.nodes {
		c.Errorf(e.Pos, "names", "the state of a node can be read only in properties")
		return nil
	}
	if base := e.Args[0]; p.selfOnly && (base.Kind != syntax.NameExpr || base.Name != "self") {
		c.Errorf(e.Pos, "names", "a property on one output may read only the state of self")
		return nil
	}
	i, ok := c.vars[e.Name]
	if e.Name == "output" {
		i, ok = c.prog.Output, c.prog.Output >= 0
		if !ok {
			c.Errorf(e.Pos, "types", "the program declares no output type")
			return nil
		}
	}
	if !ok {
		c.Errorf(e.Pos, "names", "unknown variable %s%s", e.Name, syntax.Suggest(e.Name, append(keys(c.vars), "output")))
		return nil
	}
	return &core.NodeVar{Info: core.Info{Pos: e.Pos, Type: c.prog.Vars[i].Type}, Node: node, Index: i}
}

// member is a field of a record or message.
func (c *checker) member(e *syntax.Expr, x core.Expr) core.Expr {
	t, at := x.Of(), core.Info{Pos: e.Pos}
	if t.Kind == core.Message && e.Name == "from" {
		at.Type = core.NodeType
		return &core.Apply{Info: at, Op: core.From, Args: []core.Expr{x}}
	}
	if t.Kind != core.Record && t.Kind != core.Message {
		c.Errorf(e.Pos, "types", "a value of type %s has no fields", t)
		return nil
	}
	i := t.Field(e.Name)
	if i < 0 {
		var names []string
		for _, f := range t.Fields {
			names = append(names, f.Name)
		}
		c.Errorf(e.Pos, "names", "%s has no field %s%s", t, e.Name, syntax.Suggest(e.Name, append(names, "from")))
		return nil
	}
	at.Type = t.Fields[i].Type
	return &core.Get{Info: at, X: x, Index: i}
}

func (c *checker) literal(e *syntax.Expr, want *core.Type) core.Expr {
	kind, op := core.Set, core.SetOfAll
	if e.Kind == syntax.SeqExpr {
		kind, op = core.Seq, core.SeqOfAll
	}
	var elem *core.Type
	if want != nil && want.Kind == kind {
		elem = want.Elem
	}
	at := core.Info{Pos: e.Pos, Type: want}
	if len(e.Args) == 0 {
		if elem == nil {
			c.Errorf(e.Pos, "types", "the type of an empty %s cannot be determined here",
				map[core.Kind]string{core.Set: "set", core.Seq: "sequence"}[kind])
			return nil
		}
		return &core.Const{Info: at}
	}
	var args []core.Expr
	for _, a := range e.Args {
		x := c.Infer(a, elem)
		if x == nil {
			continue
		}
		if elem == nil {
			elem = x.Of()
		}
		args = append(args, x)
	}
	if len(args) < len(e.Args) {
		return nil
	}
	at.Type = &core.Type{Kind: kind, Elem: elem}
	return &core.Apply{Info: at, Op: op, Args: args}
}

func (c *checker) conditional(e *syntax.Expr, want *core.Type) core.Expr {
	cond := c.Infer(e.Args[0], core.BoolType)
	var yes, no core.Expr
	if emptyLiteral(e.Args[1]) && want == nil {
		if no = c.Infer(e.Args[2], nil); no != nil {
			yes = c.Infer(e.Args[1], no.Of())
		}
	} else if yes = c.Infer(e.Args[1], want); yes != nil {
		no = c.Infer(e.Args[2], yes.Of())
	}
	if cond == nil || yes == nil || no == nil {
		return nil
	}
	return &core.If{Info: core.Info{Pos: e.Pos, Type: yes.Of()}, Cond: cond, Then: yes, Else: no}
}

// binding lowers expressions that open names: set builders, quantifiers, max and min.
func (c *checker) binding(e *syntax.Expr) core.Expr {
	at := e.Args[0]
	if e.Kind == syntax.BuildExpr {
		at = e.Args[1]
	}
	set, elem := c.Elements(at)
	if set == nil {
		return nil
	}
	depth := len(c.scope.names)
	var slots []core.Binder
	for _, v := range e.Vars {
		slots = append(slots, c.bind(v.Pos, v.Name, elem))
	}
	defer func() { c.scope.pop(depth) }()
	info := core.Info{Pos: e.Pos}
	switch e.Kind {
	case syntax.BuildExpr:
		return c.builder(e, set, slots[0])
	case syntax.QuantExpr:
		body := c.Infer(e.Args[1], core.BoolType)
		if body == nil {
			return nil
		}
		kind := map[string]core.Quantifier{"forall": core.Forall, "exists": core.Exists, "count": core.Count}[e.Name]
		info.Type = core.BoolType
		if kind == core.Count {
			info.Type = core.IntType
		}
		return &core.Quant{Info: info, Kind: kind, Slots: slots, Set: set, Body: body}
	}
	info.Type = elem
	best := &core.Best{Info: info, Max: e.Name == "max", Slot: slots[0], Set: set}
	for _, k := range e.Args[1:] {
		if x := c.Infer(k, core.IntType); x != nil {
			best.Keys = append(best.Keys, x)
		}
	}
	if len(e.Args) == 1 && elem.Kind != core.Int {
		c.Errorf(e.Pos, "types", "%s over %s needs 'by'", e.Name, elem)
	}
	if len(best.Keys) != len(e.Args)-1 {
		return nil
	}
	return best
}

func (c *checker) builder(e *syntax.Expr, set core.Expr, slot core.Binder) core.Expr {
	out := &core.Build{Slot: slot, Set: set}
	if len(e.Args) > 2 {
		out.Cond = c.Infer(e.Args[2], core.BoolType)
		if out.Cond == nil {
			return nil
		}
	}
	out.Elem = c.Infer(e.Args[0], nil)
	if out.Elem == nil {
		return nil
	}
	out.Info = core.Info{Pos: e.Pos, Type: core.SetOf(out.Elem.Of())}
	return out
}

func (c *checker) callExpr(e *syntax.Expr, want *core.Type) core.Expr {
	at := core.Info{Pos: e.Pos}
	if i, ok := c.funs[e.Name]; ok {
		args, ok := c.arguments(e.Pos, e.Name, e.Args, c.prog.Funs[i].Params)
		if !ok {
			return nil
		}
		at.Type = c.prog.Funs[i].Result
		return &core.Call{Info: at, Fun: i, Args: args}
	}
	if t := c.types[e.Name]; t != nil && t.Kind == core.Record {
		args, ok := c.arguments(e.Pos, e.Name, e.Args, t.Fields)
		if !ok {
			return nil
		}
		at.Type = t
		return &core.Make{Info: at, Args: args}
	}
	if e.Name == "received" {
		return c.received(e)
	}
	if _, ok := core.Written(core.Function, e.Name); !ok {
		names := append(keys(c.funs), core.FunctionNames()...)
		c.Errorf(e.Pos, "names", "unknown function %s%s", e.Name, syntax.Suggest(e.Name, names))
		return nil
	}
	return c.operator(core.Function, e, want)
}

func (c *checker) arguments(pos syntax.Pos, name string, args []*syntax.Expr, want []core.Field) ([]core.Expr, bool) {
	if len(args) != len(want) {
		c.Errorf(pos, "types", "%s takes %d arguments, not %d", name, len(want), len(args))
		return nil, false
	}
	var out []core.Expr
	for i, a := range args {
		if x := c.stored(a, want[i].Type); x != nil {
			out = append(out, x)
		}
	}
	return out, len(out) == len(args)
}

// received lowers received(M), whose argument is the name of a message type. In lock-step the mailbox holds one round.
func (c *checker) received(e *syntax.Expr) core.Expr {
	if len(e.Args) != 1 {
		c.Errorf(e.Pos, "types", "received takes 1 arguments, not %d", len(e.Args))
		return nil
	}
	arg := e.Args[0]
	i, ok := c.msgs[arg.Name]
	if arg.Kind != syntax.NameExpr || !ok {
		c.Errorf(arg.Pos, "names", "received takes a message type%s", syntax.Suggest(arg.Name, keys(c.msgs)))
		return nil
	}
	if !c.scope.place.mailbox {
		c.Errorf(e.Pos, "types", "received stands only in rules on messages")
		return nil
	}
	return &core.Mail{Info: core.Info{Pos: e.Pos, Type: core.SetOf(c.prog.Messages[i].Type)}, Message: i,
		All: !c.prog.Lockstep}
}
