package syntax_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal/syntax"
)

// tree writes a whole syntax tree, every exported field of every node but places and comments, so that two texts are
// the same program exactly when their trees are equal. It knows no node by name: what is added to the tree is compared
// too.
func tree(f *syntax.File) string {
	var b strings.Builder
	dump(&b, reflect.ValueOf(f), 0)
	return b.String()
}

var noMatter = map[reflect.Type]bool{reflect.TypeFor[syntax.Pos](): true, reflect.TypeFor[[2]syntax.Pos](): true,
	reflect.TypeFor[[]syntax.Comment](): true}

func dump(b *strings.Builder, v reflect.Value, indent int) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil\n")
			return
		}
		dump(b, v.Elem(), indent)
	case reflect.Slice:
		fmt.Fprintf(b, "%d\n", v.Len())
		for i := range v.Len() {
			fmt.Fprintf(b, "%s- ", strings.Repeat(" ", indent))
			dump(b, v.Index(i), indent+1)
		}
	case reflect.Struct:
		b.WriteString(v.Type().Name() + "\n")
		for i := range v.NumField() {
			if noMatter[v.Field(i).Type()] || !v.Type().Field(i).IsExported() {
				continue
			}
			fmt.Fprintf(b, "%s%s ", strings.Repeat(" ", indent+1), v.Type().Field(i).Name)
			dump(b, v.Field(i), indent+2)
		}
	default:
		fmt.Fprintf(b, "%#v\n", v)
	}
}

// TestTree wants programs that differ in one word to have different trees, for each kind of thing that can be written.
func TestTree(t *testing.T) {
	const src = `protocol P(n = 3, f = 1)
type T = seq<int>
enum E { one, two }
record R { a: int, b: bool }
message M { k: int, v: int? } tag (k, A)
rounds A < B
phase k
state { k: int = 0; other: set<node> }
output int
fun g(x: int): int = if x > 1 then x else -x
action act(x: int) { k := x }
init { let y = 1 + 2; act(y) }
upon M m with m.k > k do { for q in all { send M(k, none) to q } }
upon M ms with .k == k same (.v) times > 2 do { output k }
upon timeout in (k, B) late with not true do { if k == 4 { k := 5 } else { k := 6 } }
network atleast(n - f)
property Q: on output w: forall p in {p for p in all if p.k == 7}: p.other == others
property S: (max p in all by (id(p))).k == [8, 9][0]
test small { phases = 10 }
`
	base := parse(t, src)
	for _, c := range []struct{ old, new string }{
		{"times > 2", "times >= 2"}, {"times > 2", "times all"}, {"times > 2", "times > 3"}, {"times > 2", ""},
		{"same (.v)", "same (.k)"},
		{"same (.v)", ""}, {"P(", "R("}, {"n = 3", "n = 4"}, {"f = 1", "f = 2"}, {"T =", "U ="}, {"seq<int>", "seq<bool>"},
		{"seq<int>", "set<int>"},
		{"one, two", "one, three"}, {"one, two", "one"}, {"b: bool", "b: int"}, {"b: bool", "c: bool"}, {"int?", "int"},
		{"(k, A)", "(v, A)"},
		{"(k, A)", "(k, B)"}, {"A < B", "B < A"}, {"phase k", "phase j"}, {"int = 0", "int"}, {"int = 0", "int = 1"},
		{"output int", "output bool"},
		{"x: int): int", "y: int): int"}, {"): int =", "): bool ="}, {"-x", "x"}, {"x > 1", "x >= 1"}, {"act(x", "act(y"},
		{":= x", ":= 7"},
		{"let y", "let z"}, {"1 + 2", "1 - 2"}, {"1 + 2", "2 + 1"}, {"act(y)", "act()"}, {"upon M m ", "upon M o "},
		{"upon M m ", "upon N m "},
		{"with m.k > k", ""}, {"for q", "for r"}, {"in all {", "in others {"}, {"none", "some(1)"}, {"to q", "to all"},
		{"{ output k", "{ output v"},
		{"(k, B)", "(k, A)"}, {"(k, B)", "(j, B)"}, {"late ", ""}, {"not true", "true"}, {"in (k, B) late", ""},
		{":= 5", ":= 0"}, {":= 6", ":= 0"},
		{"else { k := 6 }", ""}, {"atleast(n - f)", "atleast(n)"}, {"atleast(n - f)", "any"},
		{"on output w:", "on output x:"}, {"on output w:", ""},
		{"forall p", "exists p"}, {"forall p", "forall p, q"}, {"{p for", "{q for"}, {"for p in", "for q in"},
		{" if p.k == 7", ""}, {"== others", "== all"},
		{"max p", "min p"}, {" by (id(p))", ""}, {"[8, 9]", "{8, 9}"}, {"[0]", "[1]"}, {"phases = 10", "phases = 11"},
		{"phases = 10", ""}, {"test small", "test large"},
		{"network", "// network"},
	} {
		if strings.Count(src, c.old) != 1 {
			t.Fatalf("%q is not once in the program", c.old)
		}
		if tree(parse(t, strings.Replace(src, c.old, c.new, 1))) == tree(base) {
			t.Errorf("%q and %q have the same tree", c.old, c.new)
		}
	}
	if tree(parse(t, strings.ReplaceAll(src, "\n", "\n\n// a comment\n"))) != tree(base) {
		t.Error("space and comments change the tree")
	}
}

func parse(t testing.TB, src string) *syntax.File {
	t.Helper()
	f, errs := syntax.Parse(src)
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, src)
	}
	return f
}
