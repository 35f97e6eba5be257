package strategy

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
)

// four is two nodes: the second sends four messages of different types to the first.
type four struct{ got int }

func (f *four) Start(c *sim.Context[int]) {
	for i := range 4 {
		if c.Self() == 2 {
			c.Send(1, i)
		}
	}
}
func (f *four) Receive(*sim.Context[int], lockstep.Node, int) { f.got++ }
func (f *four) Timeout(*sim.Context[int])                     {}
func (f *four) Request(*sim.Context[int], int32, string)      {}

// hashedFour is four with fingerprints: the number of messages so far.
type hashedFour struct{ four }

func (h *hashedFour) Fingerprint() uint64 { return uint64(h.got) }

// watched is Guided with access to its scheduler.
type watched struct {
	Guided
	scheduler **guided
}

func (w watched) New(info lockstep.Info) lockstep.Scheduler {
	*w.scheduler = w.Guided.New(info).(*guided)
	return *w.scheduler
}

// TestWhatIsNew counts what is new to a guided campaign for four messages to one node. Without fingerprints or with
// pairs, these are the 4 first messages and the 12 consecutive pairs. Otherwise they are the 4 states after the
// messages.
func TestWhatIsNew(t *testing.T) {
	for _, c := range []struct {
		fingerprints bool
		by           Feature
		want         int
	}{{false, ByStates, 16}, {true, ByPairs, 16}, {true, ByStates, 4}} {
		system := sim.Cluster[int]{Name: "four", Nodes: 2, Type: func(m int) string { return fmt.Sprint(m) },
			New: func(lockstep.Node, int) sim.Node[int] {
				if c.fingerprints {
					f := &hashedFour{}
					return sim.With(f, sim.Capabilities[int]{Fingerprint: f.Fingerprint})
				}
				return &four{}
			}}
		var s *guided
		g := Guided{Inner: Inner{POS{}}, Fresh: 0.5, Keep: 100, By: c.by}
		if _, err := lockstep.Explore(t.Context(),
			lockstep.Plan{System: system, Strategy: watched{g, &s}, Runs: 500}); err != nil {
			t.Fatal(err)
		}
		if len(s.met) != c.want {
			t.Errorf("fingerprints %v, by %s: %d things were new, want %d", c.fingerprints, c.by, len(s.met),
				c.want)
		}
	}
}
