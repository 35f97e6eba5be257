package syntax_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/syntax"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestScripts runs the golden scripts: `parse` shows errors, or "ok"; `format` shows the canonical form; `expr` shows
// an expression with the fewest parentheses.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse":
				_, errs := syntax.Parse(d.Input)
				if len(errs) == 0 {
					return "ok\n"
				}
				return errs.Error() + "\n"
			case "format":
				f, errs := syntax.Parse(d.Input)
				if len(errs) > 0 {
					return errs.Error() + "\n"
				}
				return syntax.Format(f)
			case "expr":
				e, errs := syntax.ParseExpr(d.Input)
				if len(errs) > 0 {
					return errs.Error() + "\n"
				}
				return e.String() + "\n"
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// sources are the example programs and some generated ones.
func sources(t testing.TB) []corpus.Program {
	return append(corpus.Examples(t), corpus.Generated(30)...)
}

// TestExamplesAreFormatted wants the example files in canonical form.
func TestExamplesAreFormatted(t *testing.T) {
	for _, p := range corpus.Examples(t) {
		f, errs := syntax.Parse(p.Source)
		if len(errs) > 0 {
			t.Fatal(p.Name, errs)
		}
		if syntax.Format(f) != p.Source {
			t.Errorf("%s is not formatted", p.Name)
		}
	}
}

// checkFormat demands that formatting changes neither meaning nor comments and is idempotent. It reports whether the
// text is a program at all.
func checkFormat(t testing.TB, src string) bool {
	t.Helper()
	f, errs := syntax.Parse(src)
	if len(errs) > 0 {
		return false
	}
	once := syntax.Format(f)
	g, errs := syntax.Parse(once)
	if len(errs) > 0 {
		t.Fatalf("the formatted program does not parse: %v\n%s\nfrom\n%s", errs, once, src)
	}
	if twice := syntax.Format(g); twice != once {
		t.Fatalf("formatting twice differs from once:\n%s\n---\n%s", once, twice)
	}
	if a, b := commentTexts(f), commentTexts(g); a != b {
		t.Fatalf("comments changed from\n%s\nto\n%s\nin\n%s", a, b, once)
	}
	if a, b := tree(f), tree(g); a != b {
		t.Fatalf("the program changed from\n%s\nto\n%s", a, b)
	}
	return true
}

// mustFormat is checkFormat for what must be a program.
func mustFormat(t testing.TB, src string) {
	t.Helper()
	if !checkFormat(t, src) {
		_, errs := syntax.Parse(src)
		t.Fatalf("not a program: %v\n%s", errs, src)
	}
}

func commentTexts(f *syntax.File) string {
	var out []string
	for _, c := range f.Comments {
		out = append(out, c.Text)
	}
	return strings.Join(out, "\n")
}

// TestFormatWithComments puts comments into every gap of the programs, at line ends and between lines.
func TestFormatWithComments(t *testing.T) {
	tier.NotShort(t)
	for _, p := range sources(t) {
		src := p.Source
		mustFormat(t, src)
		lines := strings.Split(src, "\n")
		for _, step := range []int{1, 2, 3} {
			var out []string
			for i, l := range lines {
				if i%step == 0 && !strings.Contains(l, "//") {
					l += " // behind " + fmt.Sprint(i)
				}
				out = append(out, l)
				if i%(step+1) == 0 {
					out = append(out, "// between "+fmt.Sprint(i))
				}
			}
			mustFormat(t, strings.Join(out, "\n"))
		}
		mustFormat(t, strings.ReplaceAll(src, "\n\n", "\n"))
		mustFormat(t, strings.ReplaceAll(src, "\n", "\n\n\n"))
	}
}

// TestByteOrderMark skips the mark that some editors put before the text, and only there.
func TestByteOrderMark(t *testing.T) {
	const src = "protocol P(n = 3)\n\ninit { }\n"
	f := parse(t, "\uFEFF"+src)
	if got := syntax.Format(f); got != src || f.Pos != (syntax.Pos{Line: 1, Col: 10}) {
		t.Errorf("%q, the name stands at %v", got, f.Pos)
	}
	_, errs := syntax.Parse("protocol \uFEFFP(n = 3)")
	if len(errs) == 0 || errs[0].String() != "1:10: error: unexpected character U+FEFF [syntax]" {
		t.Error(errs)
	}
}

// FuzzParse looks for input on which the parser panics, hangs, or the formatter is not faithful.
func FuzzParse(f *testing.F) {
	corpus.Add(f)
	f.Add("protocol P(n = ")
	f.Add(strings.Repeat("(", 5000))
	f.Add("protocol P(n = 3) upon X m do { if a { } else if b { x := {1, 2} } }")
	f.Fuzz(func(t *testing.T, src string) { checkFormat(t, src) })
}

// TestMutations is a fuzzer of its own that runs with the ordinary tests: programs with tokens dropped, doubled,
// swapped.
func TestMutations(t *testing.T) {
	tier.NotShort(t)
	programs, others := 0, 0
	check := func(src string) {
		if checkFormat(t, src) {
			programs++
		} else {
			others++
		}
	}
	for _, p := range sources(t) {
		src := p.Source
		fields := strings.SplitAfter(src, " ")
		for i := 0; i < len(fields); i += 1 + len(fields)/40 {
			drop := strings.Join(fields[:i], "") + strings.Join(fields[i+1:], "")
			double := strings.Join(fields[:i+1], "") + strings.Join(fields[i:], "")
			check(drop)
			check(double)
			check(src[:len(src)*i/len(fields)])
		}
	}
	if programs < 100 || others < 100 {
		t.Errorf("%d mutants are programs, %d are not: the test shows little", programs, others)
	}
}

func ExampleParse() {
	_, errs := syntax.Parse("protocol P(n = 3)\nmesage Ping { k: int } tag (k, Ping)\n")
	fmt.Println(errs)
	// Output: 2:1: error: expected a declaration (type, enum, record, message, rounds, phase, state, output, fun, action, init, upon, network, property, test, round), found 'mesage' (did you mean message?) [syntax]
}

func ExampleFormat() {
	f, _ := syntax.Parse("protocol P(n=3) init{x:=1;send M(x)to all}")
	fmt.Print(syntax.Format(f))
	// Output:
	// protocol P(n = 3)
	//
	// init {
	// 	x := 1
	// 	send M(x) to all
	// }
}

func ExampleParseExpr() {
	e, _ := syntax.ParseExpr("((a + b)) * c == 1 and not (x or y)")
	fmt.Println(e)
	// Output: (a + b) * c == 1 and not (x or y)
}

func ExampleSuggest() {
	fmt.Println("unknown balot" + syntax.Suggest("balot", []string{"ballot", "last", "log"}))
	// Output: unknown balot (did you mean ballot?)
}

func ExampleWalk() {
	e, _ := syntax.ParseExpr("a + f(b)")
	syntax.Walk(e, func(x *syntax.Expr) { fmt.Print(x, "; ") })
	fmt.Println()
	// Output: a + f(b); a; f(b); b;
}
