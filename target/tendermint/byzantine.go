package tendermint

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/trace"
)

// RandomByzantine is a random Byzantine adversary: k validators, drawn for each run. They withhold votes, change them,
// send different messages to different validators, propose two blocks, refer to polkas that never existed and
// misreport their round. They sign with their own keys. Half of the validators, drawn as well, receive the second
// version of the messages.
func RandomByzantine(k, nodes int) *Scenario {
	sc := New("random Byzantine nodes").Faults(lockstep.Budget{Byzantine: k, Losses: lockstep.Unlimited})
	faulty, deceived := sc.Pick("faulty", k), sc.Pick("deceived", nodes/2)
	votes := Type(Prevote, Precommit)
	sc.If(FromGroup(faulty), votes, WithProbability(0.02)).Named("withhold").Then(Drop())
	sc.If(FromGroup(faulty), ToGroup(faulty).Not(), ToGroup(deceived), Type(Proposal, BlockPart, Prevote, Precommit)).
		Named("equivocate").
		Then(forge("equivocate", func(f Forger, _ *rand.Rand, run *lockstep.Run, _ lockstep.Node,
			m *Message) (*Message, error) {
			return f.TwoFaced(run, m)
		}))
	sc.If(FromGroup(faulty), ToGroup(faulty).Not(), Type(Proposal, BlockPart, Prevote, Precommit, NewRoundStep),
		WithProbability(0.1)).
		Named("falsify").
		Then(forge("falsify", Forger.Falsify))
	return sc
}

// NilVoters is k validators, drawn for each run, that mostly vote nil, whatever they would have voted for. Rounds come
// close to a decision and do not reach it.
func NilVoters(k int) *Scenario {
	sc := New("nil voters").Faults(lockstep.Budget{Byzantine: k, Losses: lockstep.Unlimited})
	faulty := sc.Pick("faulty", k)
	sc.If(FromGroup(faulty), Type(Prevote, Precommit), WithProbability(0.7)).Named("vote nil").
		Then(forge("nil", func(f Forger, _ *rand.Rand, _ *lockstep.Run, by lockstep.Node, m *Message) (*Message,
			error) {
			if m.By != by {
				return nil, nil
			}
			return f.Vote(m, Ballot{Round: m.Round})
		}))
	return sc
}

// forge is the action of a forger with the key of the message's sender, and of all previous senders of forged
// messages.
func forge(text string, how func(f Forger, r *rand.Rand, run *lockstep.Run, by lockstep.Node, m *Message) (*Message,
	error)) Action {
	return Forge(text, func(m *Moment) string {
		from := m.Message.From
		f := Forger{Faulty: m.Run.Byzantine() | trace.NodesOf(from), Nodes: m.Run.Info().Nodes}
		changed, err := how(f, m.Rand(), m.Run, from, m.Body().(*Message))
		if err != nil {
			m.Abort(err)
		}
		if err != nil || changed == nil {
			return ""
		}
		return changed.String()
	})
}
