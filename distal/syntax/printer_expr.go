package syntax

import "strconv"

// String writes an expression with the fewest parentheses.
func (e *Expr) String() string { return e.at(-1) }

// levelUnary is the strength of unary minus and of everything stronger.
var levelUnary = len(binaryLevels)

func binaryLevel(op string) int {
	for i, ops := range binaryLevels {
		if contains(ops, op) {
			return i
		}
	}
	return levelUnary
}

// at writes e where an expression of at least the given strength is needed.
func (e *Expr) at(level int) string {
	text, own := e.text()
	if own < level {
		return "(" + text + ")"
	}
	return text
}

// text returns the expression and its strength.
func (e *Expr) text() (string, int) {
	switch e.Kind {
	case IntExpr:
		return strconv.FormatInt(e.Int, 10), levelUnary + 1
	case UnaryExpr:
		if e.Name == "not" {
			return "not " + e.Args[0].at(levelCompare), levelCompare
		}
		return "-" + e.Args[0].at(levelUnary), levelUnary
	case BinaryExpr:
		return e.binaryText()
	case CallExpr:
		return e.Name + "(" + joinExprs(e.Args) + ")", levelUnary + 1
	case FieldExpr:
		return e.Args[0].at(levelUnary+1) + "." + e.Name, levelUnary + 1
	case DotExpr:
		return "." + e.Name, levelUnary + 1
	case IndexExpr:
		return e.Args[0].at(levelUnary+1) + "[" + e.Args[1].String() + "]", levelUnary + 1
	case SetExpr:
		return "{" + joinExprs(e.Args) + "}", levelUnary + 1
	case SeqExpr:
		return "[" + joinExprs(e.Args) + "]", levelUnary + 1
	case BuildExpr:
		text := "{" + e.Args[0].String() + " for " + e.Vars[0].Name + " in " + e.Args[1].String()
		if len(e.Args) > 2 {
			text += " if " + e.Args[2].String()
		}
		return text + "}", levelUnary + 1
	case QuantExpr:
		return e.Name + " " + joinIdents(e.Vars, ", ") + " in " + e.Args[0].at(levelCompare+1) + ": " +
			e.Args[1].String(), -1
	case BestExpr:
		return e.bestText()
	case IfExpr:
		return "if " + e.Args[0].String() + " then " + e.Args[1].String() + " else " + e.Args[2].String(), -1
	}
	return e.Name, levelUnary + 1
}

func (e *Expr) binaryText() (string, int) {
	level := binaryLevel(e.Name)
	left, right := level, level+1
	switch {
	case level == 0:
		left, right = 1, 0
	case level == levelCompare:
		left = level + 1
	}
	op := " " + e.Name + " "
	if e.Name == ".." {
		op = ".."
	}
	return e.Args[0].at(left) + op + e.Args[1].at(right), level
}

func (e *Expr) bestText() (string, int) {
	text := e.Name + " " + e.Vars[0].Name + " in " + e.Args[0].at(levelCompare+1)
	if keys := e.Args[1:]; len(keys) > 0 {
		text += " by (" + joinExprs(keys) + ")"
	}
	return text, -1
}
