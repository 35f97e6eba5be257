package trace_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/lockstep-go/lockstep/trace"
)

// Links agrees with a table of all pairs that is updated pair by pair.
func TestLinks(t *testing.T) {
	const nodes = 4
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		links := trace.NewLinks(nodes)
		var cut [nodes + 1][nodes + 1]bool
		for range 10 {
			s := trace.Step{
				Kind:   []trace.Kind{trace.Cut, trace.Heal}[r.IntN(2)],
				From:   trace.Nodes(r.IntN(32)),
				To:     trace.Nodes(r.IntN(32)),
				OneWay: r.IntN(2) == 0,
			}
			links.Switch(&s)
			for a := trace.Node(1); a <= nodes; a++ {
				for b := trace.Node(1); b <= nodes; b++ {
					if a != b && (s.From.Has(a) && s.To.Has(b) || !s.OneWay && s.To.Has(a) && s.From.Has(b)) {
						cut[a][b] = s.Kind == trace.Cut
					}
					if links[a].Has(b) != cut[a][b] {
						t.Fatalf("seed %d: after %v the link from %d to %d is cut: %v, want %v", seed, s, a, b,
							links[a].Has(b), cut[a][b])
					}
				}
			}
		}
	}
}

func ExampleLinks() {
	links := trace.NewLinks(3)
	links.Switch(&trace.Step{Kind: trace.Cut, From: trace.NodesOf(1), To: trace.NodesOf(2, 3)})
	links.Switch(&trace.Step{Kind: trace.Heal, From: trace.NodesOf(1), To: trace.NodesOf(3), OneWay: true})
	fmt.Println(links[1], "|", links[2], "|", links[3])
	// Output: 2 | 1 | 1
}
