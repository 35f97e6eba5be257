package strategy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// TestPartition checks the chains of random partial orders, inserted in a random linear order, against brute force.
func TestPartition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	for range 300 {
		n := 1 + r.IntN(10)
		density := r.Float64()
		above := make([][]bool, n) // above[i][j]: j comes after i; i < j
		for i := range above {
			above[i] = make([]bool, n)
		}
		for j := range n {
			for i := range j {
				if r.Float64() < density {
					above[i][j] = true
					for k := range i {
						above[k][j] = above[k][j] || above[k][i]
					}
				}
			}
		}
		checkPartition(t, above)
	}
}

func checkPartition(t *testing.T, above [][]bool) {
	t.Helper()
	var p partition
	p.reset()
	chains := map[int32][]int{}
	for j := range above {
		c, _ := p.insert(int32(j), func(last int32) bool { return above[last][j] })
		chains[c] = append(chains[c], j)
	}
	for c, list := range chains {
		for k := 1; k < len(list); k++ {
			if !above[list[k-1]][list[k]] {
				t.Fatalf("chain %d is %v, but %d does not come before %d", c, list, list[k-1], list[k])
			}
		}
	}
	w := width(above)
	if len(chains) > w*(w+1)/2 || p.used > w {
		t.Fatalf("%d chains on %d levels for width %d", len(chains), p.used, w)
	}
}

// width returns the size of the largest antichain.
func width(above [][]bool) (best int) {
	for set := range 1 << len(above) {
		size, ok := 0, true
		for j := range above {
			if set>>j&1 == 0 {
				continue
			}
			size++
			for i := range j {
				ok = ok && (set>>i&1 == 0 || !above[i][j])
			}
		}
		if ok {
			best = max(best, size)
		}
	}
	return best
}

// TestClocks compares vector clocks with sets of events in random executions.
func TestClocks(t *testing.T) {
	type message struct {
		past  int32
		knows map[string]bool
	}
	r := rand.New(rand.NewPCG(4, 0))
	for range 100 {
		nodes := 1 + r.IntN(4)
		c := newClocks(nodes)
		c.reset()
		knows := make([]map[string]bool, nodes+1)
		for n := range knows {
			knows[n] = map[string]bool{}
		}
		var sent []message
		var events []string
		for range 40 {
			n := 1 + r.IntN(nodes)
			if r.IntN(2) == 0 {
				sent = append(sent, message{c.save(n), copyOf(knows[n])})
				continue
			}
			past := int32(-1)
			if len(sent) > 0 {
				m := pick(r, sent)
				past = m.past
				for e := range m.knows {
					knows[n][e] = true
				}
			}
			e := fmt.Sprint(n, " ", c.tick(n, past))
			events, knows[n][e] = append(events, e), true
		}
		for _, m := range sent {
			for _, e := range events {
				var node int
				var number int32
				if _, err := fmt.Sscan(e, &node, &number); err != nil {
					t.Fatal(err)
				}
				if got := c.knows(m.past, node, number); got != m.knows[e] {
					t.Fatalf("a clock knows of event %s: %v, want %v", e, got, m.knows[e])
				}
			}
		}
	}
}

func copyOf(m map[string]bool) map[string]bool {
	c := map[string]bool{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

// stutter is a source that returns every number several times, to provoke ties.
type stutter struct{ n uint64 }

func (s *stutter) Uint64() uint64 { s.n++; return s.n / 5 * 0x9e3779b97f4a7c15 }

// TestNoTies checks that priorities never tie and change points never collide, even if the random source repeats
// numbers.
func TestNoTies(t *testing.T) {
	s := PCTCP{Depth: 30, Events: 40}.New(lockstep.Info{Nodes: 8}).(*pctcp)
	for range 200 {
		s.Reset(&lockstep.Start{Rand: rand.New(&stutter{})})
		if len(s.change) != 29 || len(distinct(s.change)) != 29 || slices.Min(s.change) < 1 ||
			slices.Max(s.change) > 40 {
			t.Fatalf("change points %v", s.change)
		}
		var keys []uint64
		for n := lockstep.Node(1); n <= 8; n++ {
			e := event{kind: trace.Timer, node: n}
			s.arm(&e)
			keys = append(keys, e.key)
			s.priority = append(s.priority, s.freshPriority())
		}
		if keys = append(keys, s.priority...); len(distinct(keys)) != 16 {
			t.Fatalf("priorities %x", keys)
		}
	}
}

func distinct[T interface{ int32 | uint64 }](list []T) []T {
	c := slices.Clone(list)
	slices.Sort(c)
	return slices.Compact(c)
}
