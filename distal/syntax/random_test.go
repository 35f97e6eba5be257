package syntax_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/distal/syntax"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// maker makes random syntax trees: every kind of declaration, statement and expression, with any operand below any
// other. They need not mean anything.
type maker struct{ rng *rand.Rand }

func newMaker(seed uint64) *maker { return &maker{rand.New(rand.NewPCG(seed, 0x74726565))} }

func (m *maker) chance(percent int) bool { return m.rng.IntN(100) < percent }

func (m *maker) name() string {
	names := []string{"a", "phase", "ballot", "Größe", "λ", "名前", "x_1", "theLongestNameInTheProgram", "timeout", "tag"}
	return names[m.rng.IntN(len(names))]
}

func (m *maker) ident() syntax.Ident { return syntax.Ident{Name: m.name()} }

func (m *maker) idents() []syntax.Ident {
	return repeat(1+m.rng.IntN(3), m.ident)
}

func repeat[T any](n int, one func() T) []T {
	var out []T
	for range n {
		out = append(out, one())
	}
	return out
}

// operators are the binary ones with their arity hidden in the tree; comparisons cannot be operands of each other
// without parentheses, which is for the printer to know.
var operators = []string{"implies", "or", "and", "==", "!=", "<", "<=", ">", ">=", "in", "prefix", "..", "+", "-", "*",
	"/", "%"}

func (m *maker) expr(depth int) *syntax.Expr {
	e := &syntax.Expr{Kind: syntax.ExprKind(m.rng.IntN(int(syntax.IfExpr) + 1))}
	if depth == 0 {
		e.Kind = []syntax.ExprKind{syntax.NameExpr, syntax.IntExpr, syntax.DotExpr}[m.rng.IntN(3)]
	}
	args := func(n int) []*syntax.Expr {
		return repeat(n, func() *syntax.Expr { return m.expr(depth - 1) })
	}
	switch e.Kind {
	case syntax.NameExpr, syntax.DotExpr:
		e.Name = m.name()
	case syntax.IntExpr:
		e.Int = int64(m.rng.Int32())
	case syntax.UnaryExpr:
		e.Name, e.Args = []string{"-", "not"}[m.rng.IntN(2)], args(1)
	case syntax.BinaryExpr:
		e.Name, e.Args = operators[m.rng.IntN(len(operators))], args(2)
	case syntax.CallExpr:
		e.Name, e.Args = m.name(), args(m.rng.IntN(4))
	case syntax.FieldExpr:
		e.Name, e.Args = []string{m.name(), "output"}[m.rng.IntN(2)], args(1)
	case syntax.IndexExpr:
		e.Args = args(2)
	case syntax.SetExpr, syntax.SeqExpr:
		e.Args = args(m.rng.IntN(4))
	case syntax.BuildExpr:
		e.Vars, e.Args = []syntax.Ident{m.ident()}, args(2+m.rng.IntN(2))
	case syntax.QuantExpr:
		e.Name, e.Vars, e.Args = []string{"forall", "exists", "count"}[m.rng.IntN(3)], m.idents(), args(2)
	case syntax.BestExpr:
		e.Name, e.Vars, e.Args = []string{"max", "min"}[m.rng.IntN(2)], []syntax.Ident{m.ident()}, args(1+m.rng.IntN(3))
	case syntax.IfExpr:
		e.Args = args(3)
	}
	return e
}

func (m *maker) anyExpr() *syntax.Expr { return m.expr(m.rng.IntN(5)) }

func (m *maker) typeExpr() *syntax.TypeExpr {
	t := &syntax.TypeExpr{Name: m.name(), Optional: m.chance(30)}
	switch {
	case m.chance(40):
		t.Arg = m.typeExpr()
	case m.chance(30):
		t.Name, t.Range = "int", &syntax.Expr{Kind: syntax.BinaryExpr, Name: "..", Args: []*syntax.Expr{m.expr(2), m.expr(2)}}
	}
	return t
}

func (m *maker) fields(n int, values bool) []*syntax.Field {
	return repeat(n, func() *syntax.Field {
		f := &syntax.Field{Name: m.name(), Type: m.typeExpr()}
		if values && m.chance(50) {
			f.Value = m.anyExpr()
		}
		return f
	})
}

func (m *maker) stmts(depth int) []*syntax.Stmt {
	return repeat(m.rng.IntN(4), func() *syntax.Stmt { return m.stmt(depth) })
}

func (m *maker) stmt(depth int) *syntax.Stmt {
	s := &syntax.Stmt{Kind: syntax.StmtKind(m.rng.IntN(int(syntax.TryStmt) + 1)), Expr: m.anyExpr()}
	if depth == 0 {
		s.Kind = syntax.AssignStmt
	}
	if s.Kind != syntax.IfStmt && s.Kind != syntax.OutputStmt && s.Kind != syntax.TryStmt {
		s.Name = m.name()
	}
	switch s.Kind {
	case syntax.IfStmt, syntax.TryStmt:
		s.Body, s.Else = m.stmts(depth-1), m.stmts(depth-1)
	case syntax.ForStmt:
		s.Body = m.stmts(depth - 1)
	case syntax.SendStmt:
		s.Args = repeat(m.rng.IntN(4), m.anyExpr)
	case syntax.CallStmt:
		s.Expr, s.Args = nil, repeat(m.rng.IntN(4), m.anyExpr)
	}
	return s
}

func (m *maker) rule() *syntax.Rule {
	r := &syntax.Rule{}
	if m.chance(70) {
		r.Guard = m.anyExpr()
	}
	if r.Timeout = m.chance(30); r.Timeout {
		if m.chance(50) {
			r.Tag, r.Var = m.tag(), m.ident()
		}
		return r
	}
	r.Message = syntax.Ident{Name: "Prepare"}
	if m.chance(80) {
		r.Var = m.ident()
	}
	if m.chance(50) {
		r.Same = repeat(1+m.rng.IntN(2), func() *syntax.Expr { return &syntax.Expr{Kind: syntax.DotExpr, Name: m.name()} })
	}
	switch m.rng.IntN(4) {
	case 0:
		r.Times = &syntax.Times{Op: "all"}
	case 1:
		r.Times = &syntax.Times{Op: ">", Count: m.anyExpr()}
	case 2:
		r.Times = &syntax.Times{Op: ">=", Count: m.anyExpr()}
	}
	return r
}

func (m *maker) tag() *syntax.Tag { return &syntax.Tag{Phase: m.anyExpr(), Round: m.ident()} }

func (m *maker) decl() *syntax.Decl {
	d := &syntax.Decl{Kind: syntax.DeclKind(m.rng.IntN(int(syntax.RoundDecl) + 1)), Name: m.name()}
	switch d.Kind {
	case syntax.TypeDecl:
		d.Type = m.typeExpr()
	case syntax.OutputDecl:
		d.Name, d.Type = "", m.typeExpr()
	case syntax.EnumDecl:
		d.Names = m.idents()
	case syntax.RoundsDecl:
		d.Name, d.Names = "", m.idents()
		if m.chance(30) {
			d.Expr = m.anyExpr()
		}
	case syntax.RecordDecl:
		d.Fields = m.fields(m.rng.IntN(5), false)
	case syntax.MessageDecl:
		d.Fields, d.Tags = m.fields(m.rng.IntN(5), false), repeat(m.rng.IntN(3), m.tag)
	case syntax.StateDecl:
		d.Name, d.Fields = "", m.fields(m.rng.IntN(5), true)
	case syntax.FunDecl:
		d.Fields, d.Type, d.Expr = m.fields(m.rng.IntN(4), false), m.typeExpr(), m.anyExpr()
	case syntax.ActionDecl:
		d.Fields, d.Body = m.fields(m.rng.IntN(4), false), m.stmts(3)
	case syntax.InitDecl:
		d.Name, d.Body = "", m.stmts(3)
	case syntax.RuleDecl:
		d.Name, d.Rule, d.Body = "", m.rule(), m.stmts(3)
	case syntax.NetworkDecl:
		switch m.rng.IntN(3) {
		case 0:
			d.Expr = m.anyExpr()
		case 1:
			d.Formula = m.anyExpr()
		}
	case syntax.RoundDecl:
		d.First, d.Body = m.stmts(3), m.stmts(3)
	case syntax.PropertyDecl:
		if d.Expr = m.anyExpr(); m.chance(50) {
			d.Output = m.name()
		}
	case syntax.TestDecl:
		d.Fields = repeat(m.rng.IntN(5), func() *syntax.Field { return &syntax.Field{Name: m.name(), Value: m.anyExpr()} })
	}
	return d
}

func (m *maker) file() *syntax.File {
	f := &syntax.File{Name: m.name(), Lockstep: m.chance(30), Decls: repeat(m.rng.IntN(6), m.decl)}
	f.Params = repeat(m.rng.IntN(4), func() *syntax.Param { return &syntax.Param{Name: m.name(), Default: m.anyExpr()} })
	return f
}

// TestRandomTrees wants every tree to be read back as it was written, and what was written to be canonical.
func TestRandomTrees(t *testing.T) {
	tier.NotShort(t)
	for seed := range uint64(tier.Pick(500, 3000)) {
		f := newMaker(seed).file()
		text := syntax.Format(f)
		g, errs := syntax.Parse(text)
		if len(errs) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, errs, text)
		}
		if a, b := tree(f), tree(g); a != b {
			t.Fatalf("seed %d: the tree\n%s\nwas read back as\n%s\nfrom\n%s", seed, a, b, text)
		}
		checkFormat(t, text)
	}
}

// width is the number of columns of a line; a tab counts four.
func width(line string) int { return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) }

// TestWidth wants no line of code to be longer than a hundred columns, unless it is as short as it can be: then it has
// no two operands, arguments or clauses.
func TestWidth(t *testing.T) {
	long, broken := 0, 0
	for seed := range uint64(1000) {
		text := syntax.Format(newMaker(seed).file())
		broken += strings.Count(text, "\n")
		for _, line := range strings.Split(text, "\n") {
			if width(line) <= 100 {
				continue
			}
			long++
			code := strings.TrimSpace(line)
			for _, mark := range []string{" and ", " or ", " + ", ", ", " then "} {
				if strings.Contains(code, mark) && !unbreakable(code) {
					t.Errorf("seed %d: %d columns\n%s", seed, width(line), line)
				}
			}
		}
	}
	t.Logf("%d of %d lines are too long and cannot be broken", long, broken)
}

// unbreakable says whether a line holds what stands together by rule: the names of a quantifier, the ends of a range
// in a type.
func unbreakable(code string) bool {
	return strings.Contains(code, "int(") || strings.Contains(code, "forall ") || strings.Contains(code, "exists ") ||
		strings.Contains(code, "count ")
}

// TestReflow breaks programs at every space, and at none: the layout is the same, but for blank lines, comments and
// tests.
func TestReflow(t *testing.T) {
	plain := func(f *syntax.File) string {
		f.Comments = nil
		f.Decls = slices.DeleteFunc(f.Decls, func(d *syntax.Decl) bool { return d.Kind == syntax.TestDecl })
		return strings.ReplaceAll(syntax.Format(f), "\n\n", "\n")
	}
	for seed := range uint64(200) {
		f := newMaker(seed).file()
		want := plain(f)
		for _, space := range []string{" ", "\n\t", "\n\n\t\t"} {
			flowed := strings.Join(strings.Fields(want), space)
			if got := plain(parse(t, flowed)); got != want {
				t.Fatalf("seed %d: from\n%s\ncame\n%s\nwant\n%s", seed, flowed, got, want)
			}
		}
	}
}

// TestCommentsAnywhere puts a comment and a new line between any two words.
func TestCommentsAnywhere(t *testing.T) {
	tier.NotShort(t)
	for _, p := range sources(t) {
		words := strings.SplitAfter(p.Source, " ")
		for _, every := range []int{1, 2, 5, 17} {
			var b strings.Builder
			inComment := false
			for i, w := range words {
				b.WriteString(w)
				if at := strings.LastIndex(w, "\n"); at >= 0 {
					inComment = false
					w = w[at:]
				}
				inComment = inComment || strings.Contains(w, "//")
				if !inComment && i%every == 0 {
					fmt.Fprintf(&b, "// %d\n\t", i)
				}
			}
			src := b.String()
			if _, errs := syntax.Parse(src); len(errs) > 0 {
				t.Fatalf("%s, a comment every %d words: %v", p.Name, every, errs)
			}
			checkFormat(t, src)
		}
	}
}
