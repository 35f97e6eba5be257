package sequential_test

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

const program = `protocol P(n = 4)
message A { k: int } tag (k, A)
message B { k: int } tag (k, B)
rounds A < B
state { k: int = 0 x: int = 0 }
upon timeout with self == node(1) do { k := k + 1 send A(k) to all }
upon A m with m.k > k do { k := m.k send B(k) to m.from }
upon B ms with .k == k and timely times > 1 do { x := len(ms) }
upon timeout in (k, B) do { x := 9 }
`

func model(t testing.TB, opt distal.Options) *sequential.Model {
	t.Helper()
	m, _, remarks := distal.NewModel(program, opt)
	if m == nil {
		t.Fatal(remarks)
	}
	return m
}

// heardSets calls visit for every assignment of heard sets to the nodes.
func heardSets(n int, visit func([]uint64)) {
	heard := make([]uint64, n)
	var walk func(int)
	walk = func(q int) {
		if q == n {
			visit(heard)
			return
		}
		for set := range uint64(1) << n {
			heard[q] = set
			walk(q + 1)
		}
	}
	walk(0)
}

// TestNetworks compares the table of every network with the words of its assumption, by brute force over all ways to
// hear.
func TestNetworks(t *testing.T) {
	const n = 3
	all := uint64(1<<n - 1)
	every := func(heard []uint64, ok func(p int, set uint64) bool) bool {
		for p, set := range heard {
			if !ok(p, set) {
				return false
			}
		}
		return true
	}
	some := func(ok func(k int) bool) bool { return ok(0) || ok(1) || ok(2) }
	for network, want := range map[string]func([]uint64) bool{
		"any":      func([]uint64) bool { return true },
		"own":      func(h []uint64) bool { return every(h, func(p int, s uint64) bool { return s&(1<<p) != 0 }) },
		"reliable": func(h []uint64) bool { return every(h, func(_ int, s uint64) bool { return s == all }) },
		"atleast(2)": func(h []uint64) bool {
			return every(h,
				func(_ int, s uint64) bool { return bits.OnesCount64(s) >= 2 })
		},
		"kernel": func(h []uint64) bool {
			return some(func(k int) bool { return every(h, func(_ int, s uint64) bool { return s&(1<<k) != 0 }) })
		},
		"mutual": func(h []uint64) bool {
			return some(func(k int) bool { return h[k] == all && every(h, func(_ int, s uint64) bool { return s&(1<<k) != 0 }) })
		},
		"forall p in all: forall q in {node(1), node(2)}: q in heard(p)": func(h []uint64) bool {
			return every(h, func(_ int, s uint64) bool { return s&3 == 3 })
		},
		"(forall p in all: forall q in {node(1), node(2)}: q in heard(p)) or (forall p in all: forall q in {node(2), " +
			"node(3)}: q in heard(p))": func(h []uint64) bool {
			return every(h, func(_ int, s uint64) bool { return s&3 == 3 }) ||
				every(h, func(_ int, s uint64) bool { return s&6 == 6 })
		},
		"forall p, q in all: p in heard(q) or q in heard(p)": func(h []uint64) bool {
			return every(h, func(p int, s uint64) bool {
				return every(h, func(q int, r uint64) bool { return r&(1<<p) != 0 || s&(1<<q) != 0 })
			})
		},
	} {
		m := model(t, distal.Options{Nodes: n, Network: network})
		heardSets(n, func(heard []uint64) {
			got := false
			for mode := range m.Network.Modes {
				fits := every(heard, func(q int, s uint64) bool { return m.Network.Allowed(mode, q, all, s) })
				got = got || fits
			}
			if got != want(heard) {
				t.Errorf("%s: heard %03b: want %v", network, heard, want(heard))
			}
		})
	}
}

// TestManyNodes wants the table of a network with sixteen nodes, and a limit where it would be too large.
func TestManyNodes(t *testing.T) {
	tier.NotShort(t)
	for network, modes := range map[string]int{"any": 1, "own": 1, "kernel": 16, "mutual": 16, "atleast(15)": 1} {
		m := model(t, distal.Options{Nodes: 16, Network: network})
		if len(m.Network.Modes) != modes {
			t.Errorf("%s: %d modes, want %d", network, len(m.Network.Modes), modes)
		}
	}
	deep := "true"
	for i := range 7 {
		deep = fmt.Sprintf("forall p%d in all: p%d in heard(p%d) and (%s)", i, i, i, deep)
	}
	_, _, remarks := distal.NewModel(program, distal.Options{Nodes: 16, Network: deep})
	if !strings.Contains(remarks.Error(), "more than 1000000 parts") {
		t.Errorf("seven quantifiers: %v", remarks)
	}
	_, _, remarks = distal.NewModel(program, distal.Options{Nodes: 16, Network: "forall p in all: len(heard(p)) != 9"})
	if !strings.Contains(remarks.Error(), "not forbid") {
		t.Errorf("all but nine: %v", remarks)
	}
}

// TestSilence wants nodes that sent nothing to count as heard.
func TestSilence(t *testing.T) {
	m := model(t, distal.Options{Network: "atleast(3)"})
	if !m.Network.Allowed(0, 0, 0b0011, 0b0001) || m.Network.Allowed(0, 0, 0b1111, 0b0011) {
		t.Error("atleast(3) of 4: one message may be lost, two may not")
	}
}

func TestBadNetworks(t *testing.T) {
	for network, want := range map[string]string{
		"forall p in all: heard(p) == {node(1)}": "may promise messages, not forbid them",
		"forall p in all: len(heard(p)) > n":     "cannot be satisfied with 4 nodes",
		"heard(node(1)) == heard(node(2))":       "only by and, or, forall and exists",
		"forall p in all: heard(p)":              "bool is needed",
		"forall p in all: k in heard(p)":         "unknown name k",
		"forall p, q, r in all: exists s in all: s in heard(p) and s in heard(q) and s in heard(r)": "more than 4096 ways",
		"atleast(1 / 0)": "division by zero",
	} {
		_, _, remarks := distal.NewModel(program, distal.Options{Network: network})
		if !strings.Contains(remarks.Error(), want) {
			t.Errorf("%s: %v, want ...%s...", network, remarks, want)
		}
	}
}

// TestSendUpdate follows one phase by hand.
func TestSendUpdate(t *testing.T) {
	for _, timeouts := range []string{"eager", "free"} {
		m := model(t, distal.Options{Timeouts: timeouts})
		free := timeouts == "free"
		start := m.Initial(1)[0].State
		a := machine.Tag{Phase: 1, Round: 0}
		steps := m.Send(1, start, a)
		if len(steps) != map[bool]int{false: 1, true: 2}[free] {
			t.Fatalf("%s: node 1 begins in %d ways", timeouts, len(steps))
		}
		sent := steps[len(steps)-1]
		if len(sent.Out) != 1 || sent.Out[0].To != 0b1111 || sent.State.Vars[0].N != 1 || len(m.Due(sent.State)) != 0 {
			t.Errorf("%s: node 1 begins with %+v", timeouts, sent)
		}
		if other := m.Send(2, start, a); len(other) != 1 || other[0].Action != nil {
			t.Errorf("%s: node 2 begins with %+v", timeouts, other)
		}
		box := []machine.Message{{Type: 0, From: 1, Tag: a, Fields: sent.Out[0].Fields}}
		acted := m.Update(2, start, a, box)
		if len(acted) != 1 || acted[0].Action == nil || m.Label(acted[0].Action) != "upon A" ||
			len(m.Due(acted[0].State)) != 1 {
			t.Fatalf("%s: node 2 ends with %+v", timeouts, acted)
		}
		ahead := acted[0].State
		if idle := m.Update(2, ahead, a, box); len(idle) != 1 || idle[0].Action != nil {
			t.Errorf("%s: a node that is ahead acts: %+v", timeouts, idle)
		}
		b := machine.Tag{Phase: 1, Round: 1}
		if late := m.Update(1, sent.State, b, nil); len(late) != len(steps) || late[len(late)-1].State.Vars[1].N != 9 {
			t.Errorf("%s: the timeout in round B: %+v", timeouts, late)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	broken := strings.Replace(program, "send B(k) to m.from", "send B(k) to m.from x := 1", 1)
	_, _, remarks := distal.NewModel(broken, distal.Options{})
	if len(remarks.Errors()) != 1 || !strings.Contains(remarks.Error(), "7:57: error: upon A breaks condition 5") {
		t.Errorf("remarks: %v", remarks)
	}
	_, _, remarks = distal.NewModel(program, distal.Options{Network: "atleast(5)"})
	if !strings.Contains(remarks.Error(), "cannot be satisfied with 4 nodes") {
		t.Errorf("remarks: %v", remarks)
	}
}

func ExampleNew() {
	checked, _ := distal.Load(program)
	kernel, _ := checked.ParseNetwork("kernel")
	m, err := sequential.New(checked, map[string]int64{"n": 3}, kernel, core.Eager)
	fmt.Println(m.Rounds(), "rounds,", len(m.Network.Modes), "possible kernels,", err)
	// Output: 2 rounds, 3 possible kernels, <nil>
}

func ExampleBuild() {
	checked, _ := distal.Load(program)
	lockstep := sequential.Build(checked, core.Eager, 1)
	fmt.Println(lockstep.Lockstep, len(lockstep.Rules), "rules,", len(lockstep.Vars), "variables,", lockstep.Vars[2].Name)
	// Output: true 0 rules, 4 variables, due_A
}

// TestFirstPhase finds where a program begins, wherever that is: the timeout in round B can be the first thing that
// happens.
func TestFirstPhase(t *testing.T) {
	for _, c := range []struct {
		start string
		want  int64
	}{{"0", 0}, {"7", 7}, {"-5", -5}, {"choose({3, 9})", 3}} {
		src := strings.Replace(program, "k: int = 0", "k: int = "+c.start, 1)
		m, _, remarks := distal.NewModel(src, distal.Options{})
		if m == nil || m.Program.Core.First != c.want {
			t.Errorf("k = %s: %v, want %d", c.start, remarks, c.want)
		}
	}
}
