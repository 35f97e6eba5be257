package check

import "github.com/lockstep-go/lockstep/distal/syntax"

// infer finds the type of e. want, if not nil, is the type needed; empty literals take it, others must equal it.
// The result is nil after an error that has been reported.
func (c *checker) infer(e *syntax.Expr, want *Type) *Type {
	t := c.typeOf(e, want)
	if t == nil {
		return nil
	}
	c.info.Types[e] = t
	if want != nil && !t.Equal(want) {
		hint := ""
		if want.Kind == Option && t.Equal(want.Elem) {
			hint = "; write some(...)"
		}
		c.errorf(e.Pos, "types", "%s has type %s, but %s is needed%s", e, t, want, hint)
		return nil
	}
	return t
}

func (c *checker) typeOf(e *syntax.Expr, want *Type) *Type {
	switch e.Kind {
	case syntax.IntExpr:
		return intType
	case syntax.NameExpr:
		return c.nameType(e, want)
	case syntax.UnaryExpr:
		if e.Name == "not" {
			c.infer(e.Args[0], boolType)
			return boolType
		}
		c.infer(e.Args[0], intType)
		return intType
	case syntax.BinaryExpr:
		return c.binaryType(e, want)
	case syntax.CallExpr:
		return c.callType(e, want)
	case syntax.FieldExpr:
		return c.fieldType(e)
	case syntax.DotExpr:
		if c.scope.place.dot == nil {
			c.errorf(e.Pos, "types", "'.%s' is a field of the counted message; it stands only in the guard of a rule with times", e.Name)
			return nil
		}
		return c.memberType(e, c.scope.place.dot)
	case syntax.IndexExpr:
		t := c.infer(e.Args[0], nil)
		c.infer(e.Args[1], intType)
		if t == nil {
			return nil
		}
		if t.Kind != Seq {
			c.errorf(e.Pos, "types", "only a sequence can be indexed, not %s", t)
			return nil
		}
		return t.Elem
	case syntax.SetExpr, syntax.SeqExpr:
		return c.literalType(e, want)
	default:
		return c.bindingType(e, want)
	}
}

func (c *checker) nameType(e *syntax.Expr, want *Type) *Type {
	ref := func(k RefKind, i int) { c.info.Refs[e] = Ref{k, i} }
	switch e.Name {
	case "true", "false":
		ref(RefWord, 0)
		return boolType
	case "all":
		ref(RefWord, 0)
		return nodeSet
	case "self", "others":
		ref(RefWord, 0)
		if p := c.scope.place; !p.state && !p.selfOnly {
			c.errorf(e.Pos, "names", "%s has no meaning here: no node acts", e.Name)
		}
		if e.Name == "others" {
			return nodeSet
		}
		return nodeType
	case "timely":
		ref(RefWord, 0)
		if !c.scope.place.timely {
			c.errorf(e.Pos, "names", "timely stands only in the guard of a rule on messages")
		}
		return boolType
	case "none":
		ref(RefWord, 0)
		if want == nil || want.Kind != Option {
			c.errorf(e.Pos, "types", "none is a value of an optional type, which is not needed here")
			return nil
		}
		return want
	}
	if i := c.scope.find(e.Name); i >= 0 {
		ref(RefLocal, c.scope.slots[i])
		return c.scope.typs[i]
	}
	if i, ok := c.vars[e.Name]; ok {
		if !c.scope.place.state {
			c.errorf(e.Pos, "names", "%s is local state, which cannot be read here", e.Name)
		}
		ref(RefVar, i)
		return c.prog.Vars[i].Type
	}
	if i, ok := c.params[e.Name]; ok {
		ref(RefParam, i)
		return intType
	}
	if v, ok := c.enums[e.Name]; ok {
		ref(RefEnum, v.index)
		return v.typ
	}
	names := append(append(append(keys(c.vars), keys(c.params)...), keys(c.enums)...), c.scope.names...)
	c.errorf(e.Pos, "names", "unknown name %s%s", e.Name, syntax.Suggest(e.Name, names))
	return nil
}

// emptyLiteral says whether e takes its type from where it stands.
func emptyLiteral(e *syntax.Expr) bool {
	return len(e.Args) == 0 && (e.Kind == syntax.SetExpr || e.Kind == syntax.SeqExpr) ||
		e.Kind == syntax.NameExpr && e.Name == "none"
}

// operands infers two operands that must have the same type.
func (c *checker) operands(e *syntax.Expr, want *Type) *Type {
	a, b := e.Args[0], e.Args[1]
	if emptyLiteral(a) && want == nil {
		t := c.infer(b, nil)
		if t != nil {
			c.infer(a, t)
		}
		return t
	}
	t := c.infer(a, want)
	if t != nil {
		c.infer(b, t)
	} else if !emptyLiteral(b) {
		c.infer(b, nil)
	}
	return t
}

func (c *checker) binaryType(e *syntax.Expr, want *Type) *Type {
	switch e.Name {
	case "and", "or", "implies":
		c.infer(e.Args[0], boolType)
		c.infer(e.Args[1], boolType)
		return boolType
	case "==", "!=":
		c.operands(e, nil)
		return boolType
	case "<", "<=", ">", ">=":
		c.infer(e.Args[0], intType)
		c.infer(e.Args[1], intType)
		return boolType
	case "in":
		if t := c.elements(e.Args[1]); t != nil {
			c.infer(e.Args[0], t)
		}
		return boolType
	case "prefix":
		if t := c.operands(e, nil); t != nil && t.Kind != Seq {
			c.errorf(e.Pos, "types", "prefix compares sequences, not %s", t)
		}
		return boolType
	case "..":
		c.infer(e.Args[0], intType)
		c.infer(e.Args[1], intType)
		return intSet
	case "+", "-":
		var hint *Type
		if want != nil && (want.Kind == Seq || want.Kind == Set) {
			hint = want
		}
		t := c.operands(e, hint)
		if t != nil && t.Kind != Int && t.Kind != Set && !(t.Kind == Seq && e.Name == "+") {
			c.errorf(e.Pos, "types", "'%s' does not apply to %s", e.Name, t)
			return nil
		}
		return t
	}
	c.infer(e.Args[0], intType)
	c.infer(e.Args[1], intType)
	return intType
}

// elements infers a collection and returns the type of what is in it.
func (c *checker) elements(e *syntax.Expr) *Type {
	t := c.infer(e, nil)
	if t == nil {
		return nil
	}
	if t.Kind != Set && t.Kind != Seq {
		c.errorf(e.Pos, "types", "%s has type %s, but a set or sequence is needed", e, t)
		return nil
	}
	return t.Elem
}

func (c *checker) fieldType(e *syntax.Expr) *Type {
	t := c.infer(e.Args[0], nil)
	if t == nil {
		return nil
	}
	if t.Kind == Node {
		return c.nodeField(e)
	}
	return c.memberType(e, t)
}

// nodeField is p.variable or p.output in a property.
func (c *checker) nodeField(e *syntax.Expr) *Type {
	p := c.scope.place
	if !p.nodes {
		c.errorf(e.Pos, "names", "the state of a node can be read only in properties")
		return nil
	}
	if base := e.Args[0]; p.selfOnly && base.Name != "self" {
		c.errorf(e.Pos, "names", "a property on one output may read only the state of self")
		return nil
	}
	if e.Name == "output" {
		if c.prog.Output == nil {
			c.errorf(e.Pos, "types", "the program declares no output type")
			return nil
		}
		c.info.Refs[e] = Ref{RefNodeOutput, 0}
		return &Type{Kind: Option, Elem: c.prog.Output}
	}
	i, ok := c.vars[e.Name]
	if !ok {
		c.errorf(e.Pos, "names", "unknown variable %s%s", e.Name, syntax.Suggest(e.Name, append(keys(c.vars), "output")))
		return nil
	}
	c.info.Refs[e] = Ref{RefNodeVar, i}
	return c.prog.Vars[i].Type
}

// memberType is a field of a record or message.
func (c *checker) memberType(e *syntax.Expr, t *Type) *Type {
	if t.Kind == Message && e.Name == "from" {
		c.info.Refs[e] = Ref{RefFrom, 0}
		return nodeType
	}
	if t.Kind != Record && t.Kind != Message {
		c.errorf(e.Pos, "types", "a value of type %s has no fields", t)
		return nil
	}
	i := t.Field(e.Name)
	if i < 0 {
		var names []string
		for _, f := range t.Fields {
			names = append(names, f.Name)
		}
		c.errorf(e.Pos, "names", "%s has no field %s%s", t, e.Name, syntax.Suggest(e.Name, append(names, "from")))
		return nil
	}
	c.info.Refs[e] = Ref{RefField, i}
	return t.Fields[i].Type
}

func (c *checker) literalType(e *syntax.Expr, want *Type) *Type {
	kind := Set
	if e.Kind == syntax.SeqExpr {
		kind = Seq
	}
	var elem *Type
	if want != nil && want.Kind == kind {
		elem = want.Elem
	}
	if len(e.Args) == 0 {
		if elem == nil {
			c.errorf(e.Pos, "types", "the type of an empty %s cannot be told here", map[Kind]string{Set: "set", Seq: "sequence"}[kind])
			return nil
		}
		return want
	}
	for _, a := range e.Args {
		if t := c.infer(a, elem); elem == nil {
			elem = t
		}
	}
	if elem == nil {
		return nil
	}
	return &Type{Kind: kind, Elem: elem}
}

// bindingType checks expressions that open names: set builders, quantifiers, max and min, and the conditional.
func (c *checker) bindingType(e *syntax.Expr, want *Type) *Type {
	if e.Kind == syntax.IfExpr {
		c.infer(e.Args[0], boolType)
		t := c.infer(e.Args[1], want)
		c.infer(e.Args[2], t)
		return t
	}
	set := e.Args[0]
	if e.Kind == syntax.BuildExpr {
		set = e.Args[1]
	}
	elem := c.elements(set)
	if elem == nil {
		return nil
	}
	depth := len(c.scope.names)
	for _, v := range e.Vars {
		c.info.Binders[e] = append(c.info.Binders[e], c.bind(v.Pos, v.Name, elem))
	}
	defer func() { c.scope.pop(depth) }()
	switch e.Kind {
	case syntax.BuildExpr:
		if len(e.Args) > 2 {
			c.infer(e.Args[2], boolType)
		}
		t := c.infer(e.Args[0], nil)
		if t == nil {
			return nil
		}
		return &Type{Kind: Set, Elem: t}
	case syntax.QuantExpr:
		c.infer(e.Args[1], boolType)
		if e.Name == "count" {
			return intType
		}
		return boolType
	}
	for _, k := range e.Args[1:] {
		c.infer(k, intType)
	}
	if len(e.Args) == 1 && elem.Kind != Int {
		c.errorf(e.Pos, "types", "%s over %s needs 'by'", e.Name, elem)
	}
	return elem
}
