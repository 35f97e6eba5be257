package syntax_test

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal/syntax"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestHostile gives the parser a hundred thousand levels of everything that nests: it must say so, and not exhaust the
// stack.
func TestHostile(t *testing.T) {
	tier.NotShort(t)
	const many = 100_000
	const head = "protocol P(n = 3)\n"
	for name, src := range map[string]string{
		"parentheses": head + "fun f(): int = " + strings.Repeat("(", many),
		"sequences":   head + "fun f(): int = " + strings.Repeat("[", many),
		"sets":        head + "fun f(): int = " + strings.Repeat("{", many),
		"calls":       head + "fun f(): int = " + strings.Repeat("g(", many),
		"indexes":     head + "fun f(): int = " + strings.Repeat("a[", many),
		"not":         head + "fun f(): bool = " + strings.Repeat("not ", many) + "a",
		"minus":       head + "fun f(): int = " + strings.Repeat("-", many) + "a",
		"sums":        head + "fun f(): int = a" + strings.Repeat(" + a", many),
		"mixed":       head + "fun f(): bool = a" + strings.Repeat(" + a * a == a and a or a", many/5),
		"sums in sums": head + "fun f(): int = " + strings.Repeat("(", 400) + "a" +
			strings.Repeat(strings.Repeat(" + a", 400)+")", 400),
		"implications":   head + "fun f(): bool = a" + strings.Repeat(" implies a", many),
		"fields":         head + "fun f(): int = a" + strings.Repeat(".a", many),
		"elements":       head + "fun f(): int = a" + strings.Repeat("[0]", many),
		"quantifiers":    head + "fun f(): bool = " + strings.Repeat("forall x in all: ", many),
		"conditionals":   head + "fun f(): int = " + strings.Repeat("if a then ", many),
		"best":           head + "fun f(): int = " + strings.Repeat("max x in ", many),
		"types":          head + "type T = " + strings.Repeat("seq<", many),
		"blocks":         head + "init {" + strings.Repeat("for x in all {", many),
		"chains of if":   head + "init { if a { }" + strings.Repeat(" else if a { }", many) + "}",
		"tests":          head + "test t { n = " + strings.Repeat("(", many),
		"counts":         head + "upon M ms times > " + strings.Repeat("(", many),
		"parameters":     "protocol P(n = " + strings.Repeat("(", many),
		"timeouts":       head + "upon timeout in (" + strings.Repeat("(", many),
		"sums in braces": head + "init { x := a" + strings.Repeat(" + a", many) + "\n}",
	} {
		f, errs := syntax.Parse(src)
		if f == nil || len(errs) == 0 || len(errs) > 20 || !strings.Contains(errs.Error(),
			"nested too deeply (at most 500 levels)") {
			t.Errorf("%s: %.300v", name, errs)
		}
	}
	if _, errs := syntax.ParseExpr(strings.Repeat("(", many)); !strings.Contains(errs.Error(), "nested too deeply") {
		t.Error(errs)
	}
}

// TestDeepest takes nesting that is just allowed: it is read, and formatted, like anything else.
func TestDeepest(t *testing.T) {
	const deep = 490
	for name, value := range map[string]string{
		"parentheses": strings.Repeat("(a + ", deep) + "a" + strings.Repeat(")", deep),
		"sums":        "a" + strings.Repeat(" + a", deep),
		"sets":        strings.Repeat("{", deep) + strings.Repeat("}", deep),
		"fields":      "a" + strings.Repeat(".b", deep),
	} {
		src := "protocol P(n = 3)\nfun f(): int = " + value + "\n"
		if _, errs := syntax.Parse(src); len(errs) > 0 && name != "parentheses" { // a + ( is two levels
			t.Errorf("%s: %v", name, errs)
		}
		checkFormat(t, src)
	}
	statements := "protocol P(n = 3)\ninit " + strings.Repeat("{ for x in all ", deep) + "{" +
		strings.Repeat("}", deep+1) + "\n"
	parse(t, statements)
	checkFormat(t, statements)
}

// TestManyErrors stops after twenty, whatever makes them.
func TestManyErrors(t *testing.T) {
	for _, src := range []string{strings.Repeat("$", 1_000_000), strings.Repeat("99999999999 ", 100_000),
		strings.Repeat("upon\n", 100_000),
		"protocol P(n = 3)\ninit {" + strings.Repeat("x = 1\n", 100_000), "\xff" + strings.Repeat("\xfe", 100)} {
		if _, errs := syntax.Parse(src); len(errs) == 0 || len(errs) > 20 {
			t.Errorf("%d errors for %.20q", len(errs), src)
		}
	}
}

// TestWide formats a long program of many small things, each with a comment: the work is proportional to its length.
func TestWide(t *testing.T) {
	tier.NotShort(t)
	src := "protocol P(n = 3)\n\ninit {\n" + strings.Repeat("\tx := 1 // one\n", 50_000) + "}\n"
	if syntax.Format(parse(t, src)) != src {
		t.Error("the program changed")
	}
	list := "protocol P(n = 3)\n\nfun f(): set<int> = {" + strings.Repeat("a + 1, ", 20_000) + "0}\n"
	checkFormat(t, list)
}
