package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
)

// A named timer calls the capability Timer, or Timer if there is none, whatever methods the program has.
func TestTimerCapability(t *testing.T) {
	for _, with := range []bool{true, false} {
		system := sim.Cluster[int]{Name: "timed", Nodes: 1, New: func(lockstep.Node, int) sim.Node[int] {
			n := timed{new([]string)}
			if !with {
				return n
			}
			return sim.With(n, sim.Capabilities[int]{Timer: n.Timer})
		}}
		want := map[bool]string{true: "1 timer beat; beat 3", false: "1 timer beat; timer 3"}[with]
		if got := records(t, system, fire); got[1] != want {
			t.Errorf("Timer %v: %q, want %q", with, got[1], want)
		}
	}
}

// Capabilities are declared once: a second declaration would hide the first.
func TestWithTwice(t *testing.T) {
	for name, inner := range map[string]sim.Node[int]{
		"With":     sim.With[int](&ponger{}, sim.Capabilities[int]{}),
		"Blocking": sim.Blocking(func(*sim.Process[int]) {})(1, 1),
	} {
		func() {
			defer func() {
				if p := recover(); !strings.Contains(fmt.Sprint(p), "state them once") {
					t.Errorf("With of %s: %v", name, p)
				}
			}()
			sim.With(inner, sim.Capabilities[int]{})
		}()
	}
}

func ExampleWith() {
	bare := sim.NewBare(sim.Cluster[int]{Name: "pongers", Nodes: 2, New: func(lockstep.Node, int) sim.Node[int] {
		return sim.With[int](&ponger{}, sim.Capabilities[int]{Stop: func() { fmt.Println("stopped") }})
	}})
	bare.Reset(1)
	bare.Close()
	// Output:
	// stopped
	// stopped
}
