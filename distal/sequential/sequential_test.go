package sequential_test

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
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

// TestAllowed compares what the network allows with the words of the assumptions, by brute force over all sets.
func TestAllowed(t *testing.T) {
	subsets := func(visit func(uint64)) {
		for s := range uint64(16) {
			visit(s)
		}
	}
	for _, network := range []string{"any", "reliable", "atleast(3)", "kernel"} {
		m := model(t, distal.Options{Network: network})
		for mode := range m.Modes() {
			subsets(func(sent uint64) {
				subsets(func(got uint64) {
					if got&^sent != 0 {
						return
					}
					want := true
					switch network {
					case "reliable":
						want = got == sent
					case "atleast(3)":
						// Some three nodes are heard: all they sent arrives.
						want = false
						subsets(func(three uint64) {
							want = want || bits.OnesCount64(three) == 3 && sent&three&^got == 0
						})
					case "kernel":
						want = sent&(1<<mode) == 0 || got&(1<<mode) != 0
					}
					if m.Allowed(mode, sent, got) != want {
						t.Errorf("%s, mode %d: sent %04b, got %04b: want %v", network, mode, sent, got, want)
					}
				})
			})
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
		if len(sent.Out) != 1 || sent.Out[0].To != 0b1111 || sent.State.Vars[0].N != 1 || len(sent.State.Pending) != 0 {
			t.Errorf("%s: node 1 begins with %+v", timeouts, sent)
		}
		if other := m.Send(2, start, a); len(other) != 1 || other[0].Rule != nil {
			t.Errorf("%s: node 2 begins with %+v", timeouts, other)
		}
		box := []machine.Message{{Type: 0, From: 1, Tag: a, Fields: sent.Out[0].Fields}}
		acted := m.Update(2, start, a, box)
		if len(acted) != 1 || acted[0].Rule == nil || acted[0].Senders != 1 || len(acted[0].State.Pending) != 1 {
			t.Fatalf("%s: node 2 ends with %+v", timeouts, acted)
		}
		ahead := acted[0].State
		if idle := m.Update(2, ahead, a, box); len(idle) != 1 || idle[0].Rule != nil {
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
	if !strings.Contains(remarks.Error(), "5 is not between 0 and n = 4") {
		t.Errorf("remarks: %v", remarks)
	}
}

func ExampleNew() {
	checked, _ := distal.Load(program)
	p, _ := machine.Compile(checked, map[string]int64{"n": 3})
	m, err := sequential.New(p, check.Network{Kind: check.Kernel}, check.Eager)
	fmt.Println(m.Rounds(), "rounds,", m.Modes(), "possible kernels,", err)
	// Output: 2 rounds, 3 possible kernels, <nil>
}
