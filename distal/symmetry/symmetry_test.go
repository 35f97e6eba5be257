package symmetry_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/symmetry"
)

const program = `protocol P(n = 3)
message A { k: int, v: int, who: set<node> } tag (k, A)
rounds A
phase k
state {
	k: int = 1
	x: int = choose({0, 1})
	who: set<node>
	log: seq<node>
}
output int
init { send A(k, x, who) to all }
upon A ms with .k == k and timely times > n / 2 do {
	x := (max m in ms by (m.v)).v
	k := k + 1
	send A(k, x, who) to all
}
property Same: forall p, q in all: p.output == none or q.output == none or p.output == q.output
`

func broken(t testing.TB, src string) string {
	t.Helper()
	m, _, remarks := distal.NewModel(src, distal.Options{})
	if m == nil {
		t.Fatal(remarks)
	}
	return symmetry.Broken(m.Program.Core, m.Network.Formula)
}

// TestBroken takes a program in which all nodes are alike and distinguishes them in one way after the other.
func TestBroken(t *testing.T) {
	if reason := broken(t, program); reason != "" {
		t.Fatal(reason)
	}
	for _, c := range []struct{ old, now, reason string }{
		{"x := (max", "if self == node(1) { x := 0 }\n\tx := (max", "named by its number"},
		{"x := (max", "x := id(self)\n\tx := (max", "number of a node is used"},
		{"(max m in ms by (m.v)).v", "first(ms).v", "place in the order of nodes"},
		{"(max m in ms by (m.v)).v", "(max m in ms by (m.k)).v", "equally good"},
		{"x := (max", "log := log + [choose(all)]\n\tx := (max", ""},
		{"x := (max", "for p in who { log := log + [p] }\n\tx := (max", "a loop over a set of nodes"},
		{"x := (max", "for p in who { x := x + 1 }\n\tx := (max", "a loop over a set of nodes"},
		{"x := (max", "for p in all { who := who + {p} }\n\tx := (max", ""},
		{"x := (max", "for p in all { who := {p} }\n\tx := (max", "a loop over a set of nodes"},
		{"x := (max", "who := {m.from for m in ms}\n\tx := (max", ""},
		{"x := (max", "if exists p in who: 1 / x > 0 { x := 1 }\n\tx := (max", "may fail"},
		{"x := (max", "if (count p in who: 1 / x > 0) > 0 { x := 1 }\n\tx := (max", ""},
		{"forall p, q in all: p.output == none or", "forall p, q in all: p == node(1) or p.output == none or", "may fail"},
		{"property Same", "property First: node(1).x < 3\nproperty Same", "named by its number"},
		{"property Same", "network First: forall p in all: node(1) in heard(p)\nnetwork First\nproperty Same",
			"named by its number"},
		{"property Same", "network atleast(n - 1)\nproperty Same", ""},
		{"property Same", "network kernel\nproperty Same", ""},
	} {
		if strings.Count(program, c.old) != 1 {
			t.Fatalf("%q is not once in the program", c.old)
		}
		got := broken(t, strings.Replace(program, c.old, c.now, 1))
		if c.reason == "" && got != "" || !strings.Contains(got, c.reason) {
			t.Errorf("%s: %q, want %q", c.now, got, c.reason)
		}
	}
}

func ExampleBroken() {
	m, _, _ := distal.NewModel(strings.Replace(program, "to all }", "to node(2) }", 1), distal.Options{})
	fmt.Println(symmetry.Broken(m.Program.Core, m.Network.Formula))
	// Output: a node is named by its number at 12:29
}

// TestValues takes a program in which two values are alike and distinguishes them in one way after the other.
func TestValues(t *testing.T) {
	find := func(src string) *symmetry.Symmetry {
		m, _, remarks := distal.NewModel(src, distal.Options{})
		if m == nil {
			t.Fatal(remarks)
		}
		return symmetry.Find(m.Program.Core, m.Network.Formula, m.Program.Params())
	}
	src := strings.NewReplacer("(max m in ms by (m.v)).v", "first(ms).v", "log: seq<node>",
		"log: seq<int>\n\tall_: set<int>\n\ty: int = 0\n\topt: int?").Replace(program)
	if s := find(src); s.Values != "" || len(s.Namings) != 2 {
		t.Fatal(s.Values, s.Namings)
	}
	for _, c := range []struct{ old, now, reason string }{
		{"x := first",
			"log := log + [x]\n\topt := some(x)\n\tall_ := all_ + {x} + {m.v for m in ms}\n\toutput x\n\tx := first", ""},
		{"x := first", "if x in all_ and opt == some(x) and forall m in ms: m.v == x { x := choose(0..1) }\n\tx := first",
			""},
		{"x := first", "y := len(log) + len(all_) + count m in ms: m.v == x\n\tx := first", ""},
		{"x := first", "x := -1\n\tx := first", ""}, // stands alone, and is no value that is chosen
		{"x := first", "for z in all_ { all_ := all_ + {7} }\n\tx := first", ""},
		{"x := first", "x := choose({1, 2})\n\tx := first", "one also stands alone or in another set"},
		{"x := first", "x := 0\n\tx := first", "one also stands alone or in another set"},
		{"x := first", "if x == y { y := 2 }\n\tx := first", "one also stands alone or in another set"}, // y is 0 at first
		{"x := first", "opt := some(x)\n\tif opt == some(1) { x := choose(0..1) }\n\tx := first",
			"one also stands alone or in another set"},
		{"x := first", "if x < 1 { k := k }\n\tx := first", "compared by size"},
		{"x := first", "x := (x + 1) % 2\n\tx := first", "count or compute"},
		{"x := first", "x := k\n\tx := first", "phases"},
		{"x := first", "x := id(self)\n\tx := first", "count or compute"},
		{"x := first", "if self == node(x + 1) { k := k }\n\tx := first", "count or compute"},
		{"x := first", "all_ := all_ + {x}\n\tx := len(all_)\n\tx := first", "count or compute"},
		{"x := first", "all_ := all_ + {x}\n\tx := first(all_)\n\tx := first", "in order"},
		{"x := first", "all_ := all_ + {x}\n\tx := max v in all_ by (1)\n\tx := first", "in order"},
		{"first(ms).v", "(max m in ms by (m.v)).v", "compared by size"},
		{"first(ms).v", "(max m in ms by (m.k)).v", ""},
		{"x := first", "all_ := all_ + {x}\n\tfor z in all_ { log := log + [z] }\n\tx := first", "in order"},
		{"x := first", "all_ := all_ + {x}\n\tif exists z in all_: 1 / y > 0 { k := k }\n\tx := first", "in order"},
		{"x: int =", "x: int(0..1) =", "range"},
		{"property Same", "property Zero: forall p in all: p.x != 0\nproperty Same",
			"one also stands alone or in another set"},
		{"property Same", "property Size: on output v: v < 2\nproperty Same", ""}, // no output is made, so that v is no x
		{"x := first", "output x\n\tx := first", ""},
		{"output int", "output int\nproperty Zero: on output v: v == 0", ""},
		{"choose({0, 1})", "choose({0, 1, 2})", ""},
		{"choose({0, 1})", "1", "no set"},
	} {
		if strings.Count(src, c.old) != 1 {
			t.Fatalf("%q is not once in the program", c.old)
		}
		s := find(strings.Replace(src, c.old, c.now, 1))
		if c.reason == "" && s.Values != "" || !strings.Contains(s.Values, c.reason) {
			t.Errorf("%s: %q, want %q", c.now, s.Values, c.reason)
		}
	}
	both := strings.Replace(strings.Replace(src, "choose({0, 1})", "choose(1..3)", 1), "x := first(ms).v",
		"if forall m in ms: m.v == x { x := choose(1..3) }", 1)
	if s := find(both); s.Values != "" || s.Nodes != "" || len(s.Namings) != 36 {
		t.Errorf("%+v", s)
	}
}

func ExampleFind() {
	m, _, _ := distal.NewModel(strings.Replace(program, "(max m in ms by (m.v)).v", "first(ms).v", 1), distal.Options{})
	s := symmetry.Find(m.Program.Core, m.Network.Formula, m.Program.Params())
	fmt.Println(s.Nodes)
	fmt.Println(len(s.Namings))
	// Output:
	// an element is taken by its place in the order of nodes at 14:7
	// 2
}

func ExampleSymmetry_Rename() {
	m, _, _ := distal.NewModel(strings.Replace(program, "(max m in ms by (m.v)).v", "first(ms).v", 1), distal.Options{})
	s := symmetry.Find(m.Program.Core, m.Network.Formula, m.Program.Params())
	state := m.Initial(1)[0].State
	fmt.Println(state.Vars[2].N, s.Rename(state.Vars, s.Namings[1])[2].N)
	// Output: 0 1
}

func ExampleNamings() {
	fmt.Println(symmetry.Namings(2))
	// Output: [[1 2] [2 1]]
}

func ExampleNodal() {
	fmt.Println(symmetry.Nodal(core.SeqOf(core.NodeSet)), symmetry.Nodal(core.IntSet))
	// Output: true false
}
