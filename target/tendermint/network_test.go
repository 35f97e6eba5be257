package tendermint

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// On the channel of states a message brings all earlier ones with it: validators decide although no HasVote is ever
// delivered alone. Proposals wait for earlier messages, so that scenarios can withhold one.
func TestStatesBringOthers(t *testing.T) {
	for _, c := range []struct {
		withheld Condition
		decides  bool
	}{{Type(HasVote), true}, {Type(Proposal), false}} {
		commits := 0
		count := spec.OnEvent("count", EventCommit, func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
			commits++
			return nil
		})
		sc := New("withhold").Faults(lockstep.Budget{Losses: lockstep.Unlimited})
		sc.If(IsEvent(EventFailure)).Then(ReleaseAll("withheld")) // never
		sc.If(c.withheld).Then(Store("withheld"))
		explore(
			t,
			lockstep.Plan{
				System:       Cluster{},
				Strategy:     strategy.Walk{Deliver: 20, Wait: 2, Steps: 1500},
				Scenario:     sc,
				Spec:         spec.All(Safety, count),
				Runs:         1,
				AllowVacuous: true,
			},
		)
		if decided := commits > 4; decided != c.decides {
			t.Errorf("%s withheld: %d decisions", c.withheld, commits)
		}
	}
}

// A forged message replaces its original, and later messages do not bring a silently lost one.
func TestNumbers(t *testing.T) {
	n := newNetwork(target.Fill(Cluster{}), nil)
	w := way{from: 1, to: 2, conn: 1, channel: 0x20}
	sent := []*Message{{Conn: 1, Channel: 0x20}, {Conn: 1, Channel: 0x20}, {Conn: 1, Channel: 0x20}}
	for i, m := range sent {
		n.number(1, 2, m)
		if m.Seq != i {
			t.Errorf("message %d has number %d", i, m.Seq)
		}
	}
	forged := &Message{Conn: 1, Channel: 0x20, Seq: 1, forged: true}
	n.number(1, 2, forged)
	n.skip(1, 2, sent[0])
	if got := n.upTo(w, 0, 2); !slices.Equal(got, []*Message{forged, sent[2]}) {
		t.Errorf("%v come", got)
	}
	if got := n.upTo(w, 2, 7); !slices.Equal(got, sent[2:]) {
		t.Errorf("%v come after two were taken", got)
	}
	n.number(1, 2, &Message{Conn: 1, Channel: 0x20, Seq: 9, forged: true}) // it replaces no message and is ignored
}
