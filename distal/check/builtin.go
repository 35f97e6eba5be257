package check

import "github.com/lockstep-go/lockstep/distal/syntax"

// The built-in functions, by the index under which Refs name them.
const (
	BuiltinLen        = iota // len(seq or set): how many elements
	BuiltinFirst             // first(seq or set): the first element; of messages, that of the lowest sender
	BuiltinLast              // last(seq)
	BuiltinNode              // node(i): the i-th node, 1..n
	BuiltinID                // id(node): its number
	BuiltinSome              // some(x): a present optional value
	BuiltinThe               // the(x): the value of an optional that is present
	BuiltinComparable        // comparable(a, b): one is a prefix of the other; none is comparable with everything
	BuiltinChoose            // choose(S): any element
	BuiltinReceived          // received(M): the messages of type M in the mailbox
)

var builtinNames = map[string]int{
	"len": BuiltinLen, "first": BuiltinFirst, "last": BuiltinLast, "node": BuiltinNode, "id": BuiltinID,
	"some": BuiltinSome, "the": BuiltinThe, "comparable": BuiltinComparable, "choose": BuiltinChoose,
	"received": BuiltinReceived,
}

func (c *checker) callType(e *syntax.Expr, want *Type) *Type {
	if i, ok := c.funs[e.Name]; ok {
		c.info.Refs[e] = Ref{RefFun, i}
		c.arguments(e.Pos, e.Name, e.Args, c.prog.Funs[i].Params)
		return c.prog.Funs[i].Result
	}
	if t := c.types[e.Name]; t != nil && t.Kind == Record {
		c.info.Refs[e] = Ref{RefRecord, 0}
		c.arguments(e.Pos, e.Name, e.Args, t.Fields)
		return t
	}
	b, ok := builtinNames[e.Name]
	if !ok {
		names := append(keys(c.funs), keys(builtinNames)...)
		c.errorf(e.Pos, "names", "unknown function %s%s", e.Name, syntax.Suggest(e.Name, names))
		return nil
	}
	c.info.Refs[e] = Ref{RefBuiltin, b}
	arity := 1
	if b == BuiltinComparable {
		arity = 2
	}
	if len(e.Args) != arity {
		c.errorf(e.Pos, "types", "%s takes %d arguments, not %d", e.Name, arity, len(e.Args))
		return nil
	}
	if b == BuiltinReceived {
		return c.receivedType(e)
	}
	return c.builtinType(e, b, want)
}

func (c *checker) builtinType(e *syntax.Expr, b int, want *Type) *Type {
	arg := e.Args[0]
	switch b {
	case BuiltinLen:
		c.elements(arg)
		return intType
	case BuiltinFirst, BuiltinLast:
		return c.elements(arg)
	case BuiltinNode:
		c.infer(arg, intType)
		return nodeType
	case BuiltinID:
		c.infer(arg, nodeType)
		return intType
	case BuiltinSome:
		var inner *Type
		if want != nil && want.Kind == Option {
			inner = want.Elem
		}
		if t := c.infer(arg, inner); t != nil {
			return &Type{Kind: Option, Elem: t}
		}
	case BuiltinThe:
		t := c.infer(arg, nil)
		if t != nil && t.Kind == Option {
			return t.Elem
		}
		if t != nil {
			c.errorf(e.Pos, "types", "the(...) opens an optional value, not %s", t)
		}
	case BuiltinComparable:
		t := c.operands(e, nil)
		if t != nil && t.Kind != Seq && !(t.Kind == Option && t.Elem.Kind == Seq) {
			c.errorf(e.Pos, "types", "comparable takes sequences, not %s", t)
		}
		return boolType
	case BuiltinChoose:
		if !c.scope.place.choose {
			c.errorf(e.Pos, "types", "choose stands only in actions and initial values")
		}
		return c.elements(arg)
	}
	return nil
}

// receivedType checks received(M), whose argument is the name of a message type.
func (c *checker) receivedType(e *syntax.Expr) *Type {
	arg := e.Args[0]
	i, ok := c.msgs[arg.Name]
	if arg.Kind != syntax.NameExpr || !ok {
		c.errorf(arg.Pos, "names", "received takes a message type%s", syntax.Suggest(arg.Name, keys(c.msgs)))
		return nil
	}
	if !c.scope.place.mailbox {
		c.errorf(e.Pos, "types", "received stands only in rules on messages")
	}
	c.info.Refs[e] = Ref{RefBuiltin, BuiltinReceived}
	c.info.Refs[arg] = Ref{RefLocal, i}
	return &Type{Kind: Set, Elem: c.prog.Messages[i].Type}
}
