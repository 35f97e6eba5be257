package syntax

import (
	"slices"
	"strconv"
)

// String writes an expression on one line with the fewest parentheses.
func (e *Expr) String() string { return e.doc().flat() }

func (e *Expr) doc() doc { return e.at(levelImplies - 1) }

// at is e where an expression of at least the given strength is needed.
func (e *Expr) at(level int) doc {
	d, own := e.shape()
	if own < level {
		return brackets("(", []doc{tight, d}, tight, ")")
	}
	return d
}

// shape returns the expression and its strength.
func (e *Expr) shape() (doc, int) {
	switch e.Kind {
	case IntExpr:
		return text(strconv.FormatInt(e.Int, 10)), levelPrimary
	case UnaryExpr:
		if e.Name == "not" {
			return then("not ", nest(e.Args[0].at(levelCompare))), levelCompare
		}
		return then("-", e.Args[0].at(levelUnary)), levelUnary
	case BinaryExpr:
		return e.chain()
	case CallExpr:
		return list(e.Name+"(", tight, docs(e.Args), ")"), levelPrimary
	case FieldExpr:
		return join(e.Args[0].at(levelPrimary), text("."+e.Name)), levelPrimary
	case DotExpr:
		return text("." + e.Name), levelPrimary
	case IndexExpr:
		return join(e.Args[0].at(levelPrimary), list("[", tight, docs(e.Args[1:]), "]")), levelPrimary
	case SetExpr:
		return list("{", tight, docs(e.Args), "}"), levelPrimary
	case SeqExpr:
		return list("[", tight, docs(e.Args), "]"), levelPrimary
	case BuildExpr:
		return e.build(), levelPrimary
	case QuantExpr:
		head := join(text(e.Name+" "+joinIdents(e.Vars, ", ")+" in "), nest(e.Args[0].at(levelCompare+1)), text(":"))
		return group(head, nest(space, e.Args[1].doc())), levelImplies - 1
	case BestExpr:
		return e.best(), levelImplies - 1
	case IfExpr:
		return group(then("if ", nest(e.Args[0].doc())), space, then("then ", nest(e.Args[1].doc())), space,
			then("else ", nest(e.Args[2].doc()))), levelImplies - 1
	}
	return text(e.Name), levelPrimary
}

// chain is a row of operands with operators of one strength between them, such as a or b or c; a new line begins with
// the operator.
func (e *Expr) chain() (doc, int) {
	level := binaryLevel(e.Name)
	more := func() bool { return e.Kind == BinaryExpr && binaryLevel(e.Name) == level }
	operator := func() doc { return join(space, text(e.Name+" ")) }
	var parts []doc
	switch {
	case e.Name == "..":
		return join(e.Args[0].at(level), text(".."), e.Args[1].at(level+1)), level
	case level == levelCompare: // comparisons do not chain
		return group(nest(e.Args[0].at(level+1)), operator(), nest(e.Args[1].at(level+1))), level
	case level == levelImplies: // groups to the right
		for ; more(); e = e.Args[1] {
			parts = append(parts, nest(e.Args[0].at(level+1)), operator())
		}
		parts = append(parts, nest(e.at(level)))
	default: // collected from the last operand to the first
		for ; more(); e = e.Args[0] {
			parts = append(parts, nest(e.Args[1].at(level+1)), operator())
		}
		parts = append(parts, nest(e.at(level)))
		slices.Reverse(parts)
	}
	return group(parts...), level
}

func (e *Expr) build() doc {
	inner := []doc{tight, e.Args[0].doc(), space, then("for "+e.Vars[0].Name+" in ", nest(e.Args[1].doc()))}
	if len(e.Args) > 2 {
		inner = append(inner, space, then("if ", nest(e.Args[2].doc())))
	}
	return brackets("{", inner, tight, "}")
}

func (e *Expr) best() doc {
	d := then(e.Name+" "+e.Vars[0].Name+" in ", nest(e.Args[0].at(levelCompare+1)))
	if keys := e.Args[1:]; len(keys) > 0 {
		d = join(d, list(" by (", tight, docs(keys), ")"))
	}
	return d
}

func docs(list []*Expr) []doc {
	out := make([]doc, len(list))
	for i, e := range list {
		out[i] = e.doc()
	}
	return out
}
