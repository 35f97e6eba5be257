package hashicorpraft

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
)

// The number of runs that are the same in every process, of 100 seeds for each strategy. With the overlay all are,
// with Lockstep's transport and with the library's over TCP; without it the number varies.
func TestExactly(t *testing.T) {
	shares := processes.Shares(t, func() (rows []processes.Row) {
		for _, tcp := range []bool{false, true} {
			if tcp && !bubble.Overlay {
				break
			}
			for _, s := range strategies() {
				d, err := bubble.Digests(t.Context(),
					lockstep.Plan{System: Cluster{Slow: 0.1, TCP: tcp}, Strategy: s, Spec: Safety, Seed: 3}, 100)
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows,
					processes.Row{Name: fmt.Sprintf("overlay=%v tcp=%v %s", bubble.Overlay, tcp, s), Outcomes: d})
			}
		}
		return rows
	})
	for _, s := range shares {
		if s.Of != 100 || s.Same == 0 || bubble.Overlay && s.Same < s.Of {
			t.Errorf("%s: %d of %d runs are the same in all processes", s.Name, s.Same, s.Of)
		}
	}
}
