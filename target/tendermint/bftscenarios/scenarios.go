// Package bftscenarios holds the fifteen Tendermint scenarios of the Netrix paper (Table 3 there),
// re-created by their intent on Tendermint 0.34, CometBFT 0.38 and CometBFT 1.0. Some of the published
// tests could not fail, or not succeed, or broke the fault model; what differs here is said beside each scenario.
//
// A scenario is built in two forms: with the published filters alone, and with ours. The
// machine that judges is the same.
//
// The validators are four, as in the paper: h is 1, who proposes first, the faulty one is 2, who
// proposes next, and the others are 3 and 4. A liar changes its own messages only: that reaches everyone,
// because nobody else has anything of it to pass on. Lost messages are lost in silence.
package bftscenarios

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/tendermint"
	"github.com/lockstep-go/lockstep/trace"
)

// The validators, and how many of them may lie.
const (
	h    = 1
	liar = 2
	f    = 1
	all  = 3*f + 1
)

// faulty is the fault model of all of them.
var faulty = lockstep.Budget{Byzantine: f, Losses: lockstep.Unlimited}

var votes = Type(tendermint.Prevote, tendermint.Precommit)

// zero is the block that is proposed first, and fresh another that is proposed later.
var zero, fresh = Variable[string]("the first block"), Variable[string]("another block")

// about holds for messages of the first height that are as asked for.
func about(text string, holds func(*tendermint.Message) bool) Condition {
	return Body(text, func(m *tendermint.Message) bool { return m.Height == 1 && holds(m) })
}

// inRound holds for messages of a round of the first height.
func inRound(r int32) Condition {
	return about(fmt.Sprintf("round %d", r), func(m *tendermint.Message) bool { return m.Round == r })
}

// later holds for messages of the first height in rounds after 0.
var later = about("a later round", func(m *tendermint.Message) bool { return m.Round > 0 })

// signed holds for votes of the first height that one of the validators signed.
func signed(by ...lockstep.Node) Condition {
	set := trace.NodesOf(by...)
	return votes.And(about("signed by "+set.String(), func(m *tendermint.Message) bool { return set.Has(m.By) }))
}

// voted holds when a validator signs a vote of the first height.
func voted(event string, by lockstep.Node, text string, holds func(*tendermint.Vote) bool) Condition {
	return Value(event, text, func(v *tendermint.Vote) bool { return v.Height == 1 && holds(v) }).And(At(by))
}

// precommitted holds when a validator signs a precommit for the block of a variable.
func precommitted(block Var[string], by lockstep.Node) Condition {
	return ValueWith(block, tendermint.EventPrecommit, "for "+block.String(), func(v *tendermint.Vote, b string) bool { return v.Height == 1 && v.Block == b }).And(At(by))
}

// committed holds when a correct validator decides at the first height.
func committed() Condition {
	return Value(tendermint.EventCommit, "the first height", func(c *tendermint.Commit) bool { return c.Height == 1 }).And(At(h, 3, 4))
}

// reached is the counter of the validators that have come to a round, which watch counts.
func reached(round int32) Counter {
	return Count(fmt.Sprintf("validators in round %d", round)).Distinct(ByNode)
}

// watch counts who comes to a round.
func watch(sc *Scenario, round int32) {
	sc.If(Value(tendermint.EventStep, fmt.Sprintf("round %d", round), func(s *tendermint.Step) bool { return s.Height > 1 || s.Round >= round })).
		Named(fmt.Sprintf("count who is in round %d", round)).Aside().Then(reached(round).Incr(), Continue())
}

// remember notes the first proposal.
func remember(sc *Scenario) {
	sc.If(IsSend(), Type(tendermint.Proposal), inRound(0)).Named("remember the first block").Aside().Once().
		Then(SetBody(zero, "what is proposed", func(m *tendermint.Message) string { return m.Block }), Continue())
}

// isZero holds for what proposes the first block.
var isZero = BodyWith(zero, "the first block", func(m *tendermint.Message, b string) bool { return m.Block == b })

// nils lets the liar vote for nothing.
func nils(sc *Scenario) {
	sc.If(signed(liar), From(liar)).Named("the liar votes nil").Then(ballot("vote nil", func(*Moment, *tendermint.Message) *tendermint.Ballot { return nil }))
}

// ballot changes a vote of the liar: nil is a vote for nothing in the same round.
func ballot(text string, what func(*Moment, *tendermint.Message) *tendermint.Ballot) Action {
	forger := tendermint.Forger{Faulty: trace.NodesOf(liar), Nodes: all}
	return Forge(text, func(m *Moment) string {
		msg := m.Body().(*tendermint.Message)
		b := what(m, msg)
		if b == nil {
			b = &tendermint.Ballot{Round: msg.Round}
		}
		forged, err := forger.Vote(msg, *b)
		if err != nil {
			m.Abort(err)
			return ""
		}
		return forged.String()
	})
}

// blind keeps proposals from the liar, so that it does not decide by itself and leave.
func blind(sc *Scenario, while Condition) {
	sc.If(while, Type(tendermint.Proposal, tendermint.BlockPart), To(liar)).Named("the liar sees no proposal").Then(Drop())
}

// freshly lets the liar vote for the other block once there is one, and for nothing before.
func freshly(sc *Scenario) {
	const proposals = "proposals of another block"
	sc.If(IsSend(), Type(tendermint.Proposal), later, isZero.Not(), fresh.IsSet().Not()).Named("remember another block").Aside().
		Then(SetBody(fresh, "what is proposed", func(m *tendermint.Message) string { return m.Block }), Record(proposals), Continue())
	sc.If(signed(liar), From(liar)).Named("the liar votes for the other block").Then(ballot("vote for the other block", func(m *Moment, msg *tendermint.Message) *tendermint.Ballot {
		for i := range m.Run.Messages() {
			p, ok := m.Run.Body(m.Run.Messages()[i].ID).(*tendermint.Message)
			if ok && p.Kind == tendermint.Proposal && p.Height == 1 && p.Round > 0 && p.Block != first(m) {
				return &tendermint.Ballot{Round: msg.Round, Like: p}
			}
		}
		return nil
	}))
}

// first is the block of the first proposal of a run.
func first(m *Moment) string {
	for i := range m.Run.Messages() {
		if p, ok := m.Run.Body(m.Run.Messages()[i].ID).(*tendermint.Message); ok && p.Kind == tendermint.Proposal && p.Height == 1 && p.Round == 0 {
			return p.Block
		}
	}
	return ""
}

// UnlockRounds is the number of rounds in which h may unlock in ExpectUnlock.
const UnlockRounds = 8

// ExpectUnlock: h locks the first block, all others vote nil in some later round, and h then prevotes
// another block though nobody has shown it a polka for that. It succeeds where a polka for nil unlocks, as in Tendermint
// and in CometBFT before 1.0 (tendermint #6849, #6850), and not where h comes to the round UnlockRounds and has kept its
// lock. Published, a vote for nil counted as well, and the first proposal was never delivered.
func ExpectUnlock(bool) *Scenario {
	sc := New("ExpectUnlock").Faults(faulty)
	m := sc.Machine()
	locked := m.On(precommitted(zero, h), "h is locked")
	locked.On(ValueWith(zero, tendermint.EventPrevote, "for another block", func(v *tendermint.Vote, b string) bool {
		return v.Height == 1 && v.Block != b && v.Block != tendermint.Nil
	}).And(At(h)), "h is unlocked").MarkSuccess().EndRun()
	locked.On(committed(), "decided").MarkDead().EndRun()
	locked.On(Value(tendermint.EventStep, "the last round", func(s *tendermint.Step) bool { return s.Round == UnlockRounds }).And(At(h)), "h keeps its lock").MarkDead().EndRun()
	m.On(committed(), "decided")
	remember(sc)
	nils(sc)
	sc.If(signed(h), From(h)).Named("nobody hears h").Then(Drop())
	sc.If(Type(tendermint.Proposal), later, isZero).Named("the first block is not proposed again").Then(Drop())
	return sc
}

// Relocked: h, locked on the first block, locks another for which there is a polka.
func Relocked(bool) *Scenario {
	sc := New("Relocked").Faults(faulty)
	m := sc.Machine()
	locked := m.On(precommitted(zero, h), "h is locked")
	later1 := locked.On(reached(1).Ge(all), "round 1")
	later1.On(precommitted(fresh, h), "h is locked again").MarkSuccess().EndRun()
	for _, s := range []*State{m.State, locked, later1} {
		s.On(committed(), "decided").MarkDead().EndRun()
	}
	watch(sc, 1)
	remember(sc)
	freshly(sc)
	sc.If(signed(h), From(h)).Named("nobody hears h").Then(Drop())
	sc.If(Type(tendermint.Proposal), later, isZero).Named("the first block is not proposed again").Then(Drop())
	return sc
}

// LockedCommit: all lock the first block but cannot decide it, the next proposal is nothing, and
// a block is decided all the same. Published, all precommits of round 0 were changed
// to nil, which takes four liars; here everyone hears only one of the others, and the liar's nil. Ours
// keeps the liar from leaving, so that it is there to propose.
func LockedCommit(ours bool) *Scenario {
	sc := New("LockedCommit").Faults(faulty)
	m := sc.Machine()
	m.On(committed(), "decided early").MarkDead().EndRun()
	m.On(reached(1).Ge(2*f+1), "round 1").On(committed(), "decided").MarkSuccess().EndRun()
	watch(sc, 1)
	nils(sc)
	hears := map[lockstep.Node]lockstep.Nodes{1: trace.NodesOf(3), 3: trace.NodesOf(4), 4: trace.NodesOf(1), liar: trace.NodesOf(1)}
	if ours {
		hears[liar] = trace.NodesOf(1, 3)
	}
	sc.If(Type(tendermint.Precommit), inRound(0), Cond("not from those it hears", func(m *Moment) bool {
		by := m.Body().(*tendermint.Message).By
		return by != liar && !hears[m.Message.To].Has(by)
	})).Named("nobody can decide").Then(Drop())
	sc.If(Type(tendermint.Proposal), inRound(1), From(liar)).Named("the liar proposes nothing").Then(garble(20))
	if ours {
		blind(sc, m.InState(Start))
	}
	return sc
}

// garble replaces a message by so many random bytes.
func garble(n int) Action {
	return Forge("garble", func(m *Moment) string {
		raw := make([]byte, n)
		for i := range raw {
			raw[i] = byte(m.Rand().Uint32())
		}
		msg := m.Body().(*tendermint.Message)
		return fmt.Sprintf("%s; channel=%x conn=%d seq=%d raw=%s", tendermint.Garbled, msg.Channel, msg.Conn, msg.Seq, hex.EncodeToString(raw))
	})
}

// lagging lets h stay behind until the others have come to a round, and then catch up.
func lagging(name string, round int32) (*Scenario, *Machine) {
	sc := New(name).Faults(faulty)
	m := sc.Machine()
	m.On(committed(), "decided early").MarkDead().EndRun()
	m.On(reached(round).Ge(2*f+1), "catch up").On(committed(), "decided").MarkSuccess().EndRun()
	watch(sc, round)
	nils(sc)
	return sc, m
}

// How many rounds h stays behind in LaggingReplica and ForeverLaggingReplica.
const (
	Rounds        = 10
	ForeverRounds = 5
)

// LaggingReplica: h stays in round 0 while the others go through ten rounds, and then all decide. Ours withholds
// votes of all rounds from h until then: those of a later round would let it catch up, and gossip
// does not send again what is lost in silence.
func LaggingReplica(ours bool) *Scenario {
	sc, m := lagging("LaggingReplica", Rounds)
	if ours {
		sc.If(m.InState("catch up")).Named("release").Aside().Once().Then(ReleaseAll("late"), Continue())
		sc.If(m.InState(Start), votes, To(h)).Named("h hears no votes").Then(Store("late"))
		blind(sc, m.InState(Start))
	} else {
		sc.If(signed(h), From(h), inRound(0)).Named("no votes of h in round 0").Then(Drop())
		sc.If(m.InState(Start), votes, To(h), inRound(0)).Named("h hears no votes of round 0").Then(Drop())
	}
	return sc
}

// ForeverLaggingReplica: h hears only votes of rounds that are two behind, until the others have
// come to round five; then all decide. Published, a variable for the round was never set.
func ForeverLaggingReplica(ours bool) *Scenario {
	sc, m := lagging("ForeverLaggingReplica", ForeverRounds)
	now := Variable[int32]("the newest round")
	sc.If(Value(tendermint.EventStep, "the first height", func(s *tendermint.Step) bool { return s.Height == 1 && s.Step == "prevote" })).Named("remember the round").Aside().
		Then(SetValue(now, "its round", func(s *tendermint.Step) int32 { return s.Round }), Continue())
	fate := Drop()
	if ours {
		fate = Store("late")
		sc.If(m.InState("catch up")).Named("release").Aside().Once().Then(ReleaseAll("late"), Continue())
		blind(sc, m.InState(Start))
	}
	sc.If(m.InState(Start), votes, To(h), BodyWith(now, "newer than two rounds ago", func(m *tendermint.Message, r int32) bool { return m.Height == 1 && m.Round > r-2 })).
		Named("h hears old votes only").Then(fate)
	if !ours {
		sc.If(signed(h), From(h), inRound(0)).Named("no votes of h in round 0").Then(Drop())
	}
	return sc
}

// RoundSkip: the prevotes of h are withheld until all have come to round 2.
func RoundSkip(bool) *Scenario {
	sc := New("RoundSkip").Faults(faulty)
	m := sc.Machine()
	m.On(reached(2).Ge(all), "round 2").On(IsReceive().And(Type(tendermint.Prevote), InSet("withheld")), "late prevote").MarkSuccess().EndRun()
	m.On(committed(), "decided").MarkDead().EndRun()
	watch(sc, 2)
	nils(sc)
	sc.If(m.InState("round 2")).Named("release").Aside().Once().Then(ReleaseAll("late"), Continue())
	sc.If(m.InState(Start), Type(tendermint.Prevote), From(h), signed(h)).Named("withhold").Then(Record("withheld"), Store("late"))
	return sc
}

// Quiet is for how long nothing may happen in BlockVotes and NotNilDecide, in virtual time.
const Quiet = 300 * time.Millisecond

// BlockVotes: without 2f+1 prevotes nobody leaves round 0. Published, everyone heard 2f prevotes
// of others, which make 2f+1 with its own; ours lets everyone hear one less.
func BlockVotes(ours bool) *Scenario {
	sc := New("BlockVotes").Faults(faulty)
	m := sc.Machine()
	m.On(committed(), "decided").MarkDead().EndRun()
	m.On(Value(tendermint.EventStep, "round 1", func(s *tendermint.Step) bool { return s.Round > 0 }), "round 1").MarkDead().EndRun()
	m.On(Since(trace.Time(Quiet)), "nobody moved").MarkSuccess().EndRun()
	heard := 2 * f
	if ours {
		heard--
	}
	return sc.Use(AtMost(heard, Type(tendermint.Prevote), ByReceiver))
}

// PrecommitInvariant: nobody precommits a block that nobody could see.
func PrecommitInvariant(bool) *Scenario {
	sc := New("PrecommitInvariant").Faults(faulty)
	m := sc.Machine()
	seen := m.On(IsSend().And(Type(tendermint.Proposal), inRound(0)), "proposed")
	for n := range trace.AllNodes(all).All() {
		seen.On(precommitted(zero, n).And(Value(tendermint.EventPrecommit, "round 0", func(v *tendermint.Vote) bool { return v.Round == 0 })), "precommitted").MarkDead().EndRun()
	}
	seen.On(reached(1).Ge(all), "round 1").MarkSuccess().EndRun()
	watch(sc, 1)
	remember(sc)
	sc.If(Type(tendermint.Proposal), inRound(0)).Named("nobody sees the proposal").Then(Drop())
	return sc
}

// CommitAfterRoundSkip: votes of h of round 0 arrive when all are in round 1, and the block of round 0 is
// decided.
func CommitAfterRoundSkip(bool) *Scenario {
	sc := New("CommitAfterRoundSkip").Faults(faulty)
	m := sc.Machine()
	one := m.On(reached(1).Ge(all), "round 1")
	one.On(ValueWith(zero, tendermint.EventCommit, "the first block", func(c *tendermint.Commit, b string) bool { return c.Height == 1 && c.Block == b }), "decided").MarkSuccess().EndRun()
	one.On(committed(), "another is decided").MarkDead().EndRun()
	m.On(committed(), "decided early").MarkDead().EndRun()
	watch(sc, 1)
	remember(sc)
	nils(sc)
	sc.If(m.InState("round 1")).Named("release").Aside().Once().Then(ReleaseAll("late"), Continue())
	sc.If(m.InState(Start), signed(h), From(h), inRound(0)).Named("withhold").Then(Store("late"))
	return sc
}

// DifferentDecisions tries to make 3, who hears nothing newer, decide the first block, which h has locked, while the
// others decide another: when they have come to round 2, what was withheld from 3 reaches it. It
// succeeds when somebody decides then; that nobody decides differently the spec says. Published, it succeeded when
// h had precommitted the first block and not another. Ours keeps the liar from leaving, and
// loses only the prevotes of h: without its precommits nobody leaves round 0.
func DifferentDecisions(ours bool) *Scenario {
	const delay = 3
	sc := New("DifferentDecisions").Faults(faulty)
	m := sc.Machine()
	old := m.On(precommitted(zero, h), "h is locked")
	attack := old.On(reached(2).Ge(2*f+1), "3 hears all")
	attack.On(committed(), "decided").MarkSuccess().EndRun()
	for _, s := range []*State{m.State, old} {
		s.On(committed(), "decided early").MarkDead().EndRun()
	}
	watch(sc, 2)
	remember(sc)
	sc.If(m.InState("3 hears all")).Named("release").Aside().Once().Then(ReleaseAll("old"), Continue())
	sc.If(m.InState("3 hears all").Not(), To(delay), inRound(0), signed(h, liar, 4)).Named("withhold").Then(Store("old"))
	sc.If(m.InState("3 hears all").Not(), To(delay), later).Named("3 hears nothing newer").Then(Drop())
	unheard := votes
	if ours {
		unheard = Type(tendermint.Prevote)
	}
	sc.If(signed(h), From(h), inRound(0), unheard).Named("nobody hears h").Then(Drop())
	freshly(sc)
	if ours {
		blind(sc, m.InState("3 hears all").Not())
	} else {
		sc.If(Type(tendermint.Proposal), later, isZero).Named("the first block is not proposed again").Then(Drop())
	}
	return sc
}

// NilPrevotes: a validator, drawn for each run, that has a polka for nil precommits nil. Published, 2f+1
// prevotes of others were counted, copies included.
func NilPrevotes(bool) *Scenario {
	sc := New("NilPrevotes").Faults(faulty)
	p := sc.Pick("p", 1)
	m := sc.Machine()
	signer := By("signer", func(m *Moment) uint64 { return uint64(m.Body().(*tendermint.Message).By) })
	heard := Count("nil prevotes").Distinct(signer)
	m.On(heard.Ge(2*f), "polka").
		On(Value(tendermint.EventPrecommit, "nil", func(v *tendermint.Vote) bool { return v.Height == 1 && v.Block == tendermint.Nil }).And(AtGroup(p)), "precommitted nil").MarkSuccess().EndRun()
	sc.If(Type(tendermint.Proposal)).Named("nobody sees a proposal").Then(Drop())
	sc.If(IsReceive(), Type(tendermint.Prevote), ToGroup(p), inRound(0), about("for nil", func(m *tendermint.Message) bool { return m.Block == tendermint.Nil })).
		Named("count").Aside().Then(heard.Incr())
	return sc
}

// ProposalNilPrevote: a validator that sees no proposal in time prevotes nil. Here it is 3:
// h proposes. Ours keeps the votes of others from it: often they decide before its time is over.
func ProposalNilPrevote(ours bool) *Scenario {
	const blind = 3
	sc := New("ProposalNilPrevote").Faults(faulty)
	m := sc.Machine()
	m.On(voted(tendermint.EventPrevote, blind, "nil", func(v *tendermint.Vote) bool { return v.Round == 0 && v.Block == tendermint.Nil }), "prevoted nil").MarkSuccess().EndRun()
	m.On(voted(tendermint.EventPrevote, blind, "a block", func(v *tendermint.Vote) bool { return v.Round == 0 && v.Block != tendermint.Nil }), "prevoted a block").MarkDead().EndRun()
	sc.If(Type(tendermint.Proposal), To(blind), inRound(0)).Named("it sees no proposal").Then(Drop())
	if ours {
		sc.If(votes, To(blind), inRound(0)).Named("it hears no votes").Then(Drop())
	}
	return sc
}

// NotNilDecide: nobody decides nil, though nil has many votes.
func NotNilDecide(bool) *Scenario {
	sc := New("NotNilDecide").Faults(faulty)
	m := sc.Machine()
	m.On(Value(tendermint.EventCommit, "nil", func(c *tendermint.Commit) bool { return c.Block == tendermint.Nil }), Fail)
	m.On(reached(2).Ge(all), "round 2").MarkSuccess().EndRun()
	m.On(committed(), "decided").MarkDead().EndRun()
	watch(sc, 2)
	nils(sc)
	sc.If(signed(h), From(h)).Named("nobody hears h").Then(Drop())
	return sc
}

// harmless is a scenario in which all correct validators hear a lie and decide after it. Published, it was enough that somebody
// decided, which they do without a liar, too.
func harmless(name string, lie Condition) *Scenario {
	sc := New(name).Faults(faulty)
	heard := Count("who heard the liar").Distinct(ByReceiver)
	m := sc.Machine()
	m.On(heard.Ge(2*f+1), "all heard the liar").On(committed(), "decided").MarkSuccess().EndRun()
	m.On(committed(), "decided early").MarkDead().EndRun()
	sc.If(IsReceive(), From(liar), To(h, 3, 4), lie).Named("count who heard it").Aside().Then(heard.Incr(), Continue())
	return sc
}

// GarbledMessage: the others decide though the liar sends nothing but noise.
func GarbledMessage(bool) *Scenario {
	sc := harmless("GarbledMessage", Type(tendermint.Garbled))
	sc.If(From(liar)).Named("the liar sends noise").Then(garble(100))
	return sc
}

// HigherRound: the others decide though the votes of the liar are of later rounds.
func HigherRound(bool) *Scenario {
	sc := harmless("HigherRound", votes.And(about("two rounds ahead", func(m *tendermint.Message) bool { return m.Round >= 2 })))
	sc.If(signed(liar), From(liar)).Named("the liar votes two rounds ahead").Then(ballot("two rounds ahead", func(_ *Moment, m *tendermint.Message) *tendermint.Ballot {
		return &tendermint.Ballot{Round: m.Round + 2, Like: m}
	}))
	return sc
}
