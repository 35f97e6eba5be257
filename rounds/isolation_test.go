package rounds_test

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// Frozen nodes are paused. Nodes that are cut off keep running on their clocks and lose their messages. The messages
// of held nodes arrive in the round of their return, in the order of sending.
func TestIsolation(t *testing.T) {
	all, two := trace.AllNodes(3), trace.NodesOf(1, 2)
	kernels := []lockstep.Nodes{two, two, two, two, two, two, all, all, all, all}
	for _, system := range []lockstep.System{gossip(), tagged(), smr.Cluster{Nodes: 3}} {
		for _, how := range []rounds.Isolation{rounds.Frozen, rounds.CutOff, rounds.Held} {
			plan := &loser{turns: turns{number: 10, kernels: kernels, give: map[int][]lockstep.Step{}}, how: how}
			tr, err := lockstep.Record(t.Context(), lockstep.Plan{System: system, Strategy: plan}, 0)
			if err != nil {
				t.Fatal(err)
			}
			fired, lost, kept, arrived := 0, 0, []trace.ID(nil), []trace.ID(nil)
			for _, r := range tr.Records {
				for _, m := range r.Sent {
					if (m.From == 3 || m.To == 3) && r.Round > 0 && r.Round <= 5 {
						kept = append(kept, m.ID)
					}
				}
				switch r.Step.Kind {
				case trace.Timer:
					if r.Step.Node == 3 && r.Round <= 6 {
						fired++
					}
				case trace.Drop:
					if m, _ := tr.Message(r.Step.Msg); m.From == 3 || m.To == 3 {
						lost++
					}
				case trace.Deliver:
					if slices.Contains(kept, r.Step.Msg) {
						if arrived = append(arrived, r.Step.Msg); r.Round != 7 {
							t.Errorf("%T, %d: message %d arrived in round %d", system, how, r.Step.Msg, r.Round)
						}
					}
				}
			}
			_, leads := system.(smr.Cluster) // there, only the leader of a phase has a timer
			if (fired > 0) != (how != rounds.Frozen) && !leads {
				t.Errorf("%T, %d: the isolated node's timer fired %d times", system, how, fired)
			}
			if len(kept) == 0 || (lost > 0) != (how != rounds.Held) && how != rounds.Held ||
				(len(arrived) > 0) != (how == rounds.Held) ||
				!slices.IsSorted(arrived) {
				t.Errorf("%T, %d: %d messages of the isolated node, %d lost, arrived %v", system, how, len(kept), lost,
					arrived)
			}
		}
	}
}

// loser is a strategy of rounds that leaves all losses to the driver.
type loser struct {
	turns
	how rounds.Isolation
}

func (l *loser) New(info lockstep.Info) lockstep.Scheduler {
	p := &lossless{turning: &turning{turns: l.turns}}
	p.inner = rounds.New(info, l.number, p)
	p.inner.Isolates(l.how)
	return p
}

type lossless struct{ *turning }

func (lossless) Loses(*trace.Message) bool { return false }
