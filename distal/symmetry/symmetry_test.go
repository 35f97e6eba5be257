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

// TestBroken takes a program in which all nodes are alike and tells them apart in one way after the other.
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
		{"property Same", "network First: forall p in all: node(1) in heard(p)\nnetwork First\nproperty Same", "named by its number"},
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

func ExampleRename() {
	set := core.Value{E: []core.Value{{N: 1}, {N: 3}}}
	fmt.Println(core.Format(core.NodeSet, symmetry.Rename(core.NodeSet, set, []int{2, 3, 1})))
	// Output: {node(1), node(2)}
}

func ExampleNamings() {
	fmt.Println(symmetry.Namings(2))
	// Output: [[1 2] [2 1]]
}

func ExampleNodal() {
	fmt.Println(symmetry.Nodal(core.SeqOf(core.NodeSet)), symmetry.Nodal(core.IntSet))
	// Output: true false
}
