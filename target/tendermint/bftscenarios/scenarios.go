// Package bftscenarios holds the fifteen Tendermint scenarios of the Netrix paper (its Table 3), re-created by their
// intent on Tendermint 0.34, CometBFT 0.38 and CometBFT 1.0. Some of the published tests could not fail, or could not
// succeed, or violated the fault model. The comment of each scenario states its differences.
//
// A scenario has two forms: with the published filters alone, and with ours. Both use the same machine to check the
// run.
//
// There are four validators, as in the paper. Validator h is 1 and proposes first. The faulty one is 2 and proposes
// next. The others are 3 and 4. The Byzantine validator changes only its own messages. The forged messages reach all
// validators, because no other validator has messages of it to forward. Messages are lost silently.
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

// The validators, and the number of Byzantine ones.
const (
	h             = 1
	byzantineNode = 2
	f             = 1
	all           = 3*f + 1
)

// faulty is the fault model of all scenarios.
var faulty = lockstep.Budget{Byzantine: f, Losses: lockstep.Unlimited}

var votes = Type(tendermint.Prevote, tendermint.Precommit)

// zero is the first proposed block, and fresh another block that is proposed later.
var zero, fresh = Variable[string]("the first block"), Variable[string]("another block")

// about holds for messages of the first height that satisfy a predicate.
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
	return ValueWith(block, tendermint.EventPrecommit, "for "+block.String(),
		func(v *tendermint.Vote, b string) bool { return v.Height == 1 && v.Block == b }).And(At(by))
}

// committed holds when a correct validator decides at the first height.
func committed() Condition {
	return Value(tendermint.EventCommit, "the first height",
		func(c *tendermint.Commit) bool { return c.Height == 1 }).And(At(h, 3, 4))
}

// reached is the counter of the validators that have reached a round, which watch counts.
func reached(round int32) Counter {
	return Count(fmt.Sprintf("validators in round %d", round)).Distinct(ByNode)
}

// watch counts the validators that reach a round.
func watch(sc *Scenario, round int32) {
	sc.If(Value(tendermint.EventStep, fmt.Sprintf("round %d", round),
		func(s *tendermint.Step) bool { return s.Height > 1 || s.Round >= round })).
		Named(fmt.Sprintf("count the validators in round %d", round)).
		Auxiliary().
		Then(reached(round).Incr(), Continue())
}

// remember records the first proposal.
func remember(sc *Scenario) {
	sc.If(IsSend(), Type(tendermint.Proposal), inRound(0)).Named("remember the first block").Auxiliary().Once().
		Then(CaptureBody(zero, "what is proposed", func(m *tendermint.Message) string { return m.Block }), Continue())
}

// isZero holds for messages that propose the first block.
var isZero = BodyWith(zero, "the first block", func(m *tendermint.Message, b string) bool { return m.Block == b })

// nils makes the Byzantine validator vote nil.
func nils(sc *Scenario) {
	sc.If(signed(byzantineNode), From(byzantineNode)).
		Named("the Byzantine node votes nil").
		Then(ballot("vote nil", func(*Moment, *tendermint.Message) *tendermint.Ballot { return nil }))
}

// ballot changes a vote of the Byzantine validator: nil is a nil vote in the same round.
func ballot(text string, what func(*Moment, *tendermint.Message) *tendermint.Ballot) Action {
	forger := tendermint.Forger{Faulty: trace.NodesOf(byzantineNode), Nodes: all}
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

// blind withholds proposals from the Byzantine validator, so that it does not decide on its own and leave.
func blind(sc *Scenario, while Condition) {
	sc.If(while, Type(tendermint.Proposal, tendermint.BlockPart), To(byzantineNode)).
		Named("the Byzantine node sees no proposal").
		Then(Drop())
}

// freshly makes the Byzantine validator vote for the other block once there is one, and nil before.
func freshly(sc *Scenario) {
	const proposals = "proposals of another block"
	sc.If(IsSend(), Type(tendermint.Proposal), later, isZero.Not(), fresh.IsSet().Not()).
		Named("remember another block").
		Auxiliary().
		Then(CaptureBody(fresh, "what is proposed", func(m *tendermint.Message) string { return m.Block }),
			Record(proposals), Continue())
	sc.If(signed(byzantineNode), From(byzantineNode)).
		Named("the Byzantine node votes for the other block").
		Then(ballot("vote for the other block", func(m *Moment, msg *tendermint.Message) *tendermint.Ballot {
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
		if p, ok := m.Run.Body(m.Run.Messages()[i].ID).(*tendermint.Message); ok && p.Kind == tendermint.Proposal &&
			p.Height == 1 && p.Round == 0 {
			return p.Block
		}
	}
	return ""
}

// UnlockRounds is the number of rounds in which h may unlock in ExpectUnlock.
const UnlockRounds = 8

// ExpectUnlock makes h lock the first block. All others vote nil in some later round. Then h prevotes another block
// although no validator has shown it a polka for that. The scenario succeeds if a polka for nil unlocks, as in
// Tendermint and in CometBFT before 1.0 (tendermint #6849, #6850). It does not succeed if h reaches the round
// UnlockRounds with its lock. In the published scenario a vote for nil counted as well, and the first proposal was
// never delivered.
func ExpectUnlock(bool) *Scenario {
	sc := New("ExpectUnlock").Faults(faulty)
	m := sc.Machine()
	locked := m.On(precommitted(zero, h), "h is locked")
	locked.On(ValueWith(zero, tendermint.EventPrevote, "for another block", func(v *tendermint.Vote, b string) bool {
		return v.Height == 1 && v.Block != b && v.Block != tendermint.Nil
	}).And(At(h)), "h is unlocked").MarkSuccess().EndRun()
	locked.On(committed(), "decided").MarkOptional().EndRun()
	locked.On(Value(tendermint.EventStep, "the last round",
		func(s *tendermint.Step) bool { return s.Round == UnlockRounds }).And(At(h)), "h keeps its lock").
		MarkOptional().
		EndRun()
	m.On(committed(), "decided")
	remember(sc)
	nils(sc)
	sc.If(signed(h), From(h)).Named("no validator hears h").Then(Drop())
	sc.If(Type(tendermint.Proposal), later, isZero).Named("the first block is not proposed again").Then(Drop())
	return sc
}

// Relocked makes h, locked on the first block, lock another block that has a polka.
func Relocked(bool) *Scenario {
	sc := New("Relocked").Faults(faulty)
	m := sc.Machine()
	locked := m.On(precommitted(zero, h), "h is locked")
	later1 := locked.On(reached(1).Ge(all), "round 1")
	later1.On(precommitted(fresh, h), "h is locked again").MarkSuccess().EndRun()
	for _, s := range []*State{m.State, locked, later1} {
		s.On(committed(), "decided").MarkOptional().EndRun()
	}
	watch(sc, 1)
	remember(sc)
	freshly(sc)
	sc.If(signed(h), From(h)).Named("no validator hears h").Then(Drop())
	sc.If(Type(tendermint.Proposal), later, isZero).Named("the first block is not proposed again").Then(Drop())
	return sc
}

// LockedCommit makes all validators lock the first block but not decide it. The next proposal is empty, and yet they
// decide a block. The published scenario changed all precommits of round 0 to nil, which takes four Byzantine
// validators. Here every validator hears only one of the others, and the nil vote of the Byzantine one. Our filter
// keeps the Byzantine validator from leaving, so that it is there to propose.
func LockedCommit(ours bool) *Scenario {
	sc := New("LockedCommit").Faults(faulty)
	m := sc.Machine()
	m.On(committed(), "decided early").MarkOptional().EndRun()
	m.On(reached(1).Ge(2*f+1), "round 1").On(committed(), "decided").MarkSuccess().EndRun()
	watch(sc, 1)
	nils(sc)
	hears := map[lockstep.Node]lockstep.Nodes{
		1:             trace.NodesOf(3),
		3:             trace.NodesOf(4),
		4:             trace.NodesOf(1),
		byzantineNode: trace.NodesOf(1),
	}
	if ours {
		hears[byzantineNode] = trace.NodesOf(1, 3)
	}
	sc.If(Type(tendermint.Precommit), inRound(0), Cond("not from those it hears", func(m *Moment) bool {
		by := m.Body().(*tendermint.Message).By
		return by != byzantineNode && !hears[m.Message.To].Has(by)
	})).Named("no validator can decide").Then(Drop())
	sc.If(Type(tendermint.Proposal), inRound(1), From(byzantineNode)).
		Named("the Byzantine node proposes nothing").
		Then(garble(20))
	if ours {
		blind(sc, m.InState(Start))
	}
	return sc
}

// garble replaces a message by random bytes.
func garble(n int) Action {
	return Forge("garble", func(m *Moment) string {
		raw := make([]byte, n)
		for i := range raw {
			raw[i] = byte(m.Rand().Uint32())
		}
		msg := m.Body().(*tendermint.Message)
		return fmt.Sprintf("%s; channel=%x conn=%d seq=%d raw=%s", tendermint.Garbled, msg.Channel, msg.Conn, msg.Seq,
			hex.EncodeToString(raw))
	})
}

// lagging lets h stay behind until the others have reached a round, and then catch up.
func lagging(name string, round int32) (*Scenario, *Machine) {
	sc := New(name).Faults(faulty)
	m := sc.Machine()
	m.On(committed(), "decided early").MarkOptional().EndRun()
	m.On(reached(round).Ge(2*f+1), "catch up").On(committed(), "decided").MarkSuccess().EndRun()
	watch(sc, round)
	nils(sc)
	return sc, m
}

// The numbers of rounds that h stays behind in LaggingReplica and ForeverLaggingReplica.
const (
	Rounds        = 10
	ForeverRounds = 5
)

// AtOnce is less than any timeout of the library in the times of the target, in virtual time: what takes longer has
// waited for a timeout.
const AtOnce = 10 * time.Millisecond

// LaggingReplica keeps h in round 0 while the others go through ten rounds, and then lets it hear them. By the
// published algorithm h skips to their round as soon as it has messages of that round from f+1 validators. The
// scenario succeeds if h deviates: it arrives there only after timeouts, because the others send it votes of its own
// round alone, and it goes through all rounds in between.
//
// The paper states this property and counts iterations with the deviation. Its published test succeeded when any
// validator decided, which distinguishes nothing. Ours withholds votes of all rounds from h until then. Votes of a
// later round would let it catch up, and gossip does not resend silently lost messages.
func LaggingReplica(ours bool) *Scenario { return Lagging(Rounds, ours) }

// Lagging is LaggingReplica for another number of rounds.
func Lagging(rounds int32, ours bool) *Scenario {
	sc := New("LaggingReplica").Faults(faulty)
	m := sc.Machine()
	m.On(committed(), "decided early").MarkOptional().EndRun()
	arrives := Value(tendermint.EventStep, fmt.Sprintf("round %d", rounds),
		func(s *tendermint.Step) bool { return s.Height == 1 && s.Round >= rounds }).And(At(h))
	waits := m.On(reached(rounds).Ge(2*f+1), "catch up")
	lags := waits.On(m.InStateFor(trace.Time(AtOnce), "catch up"), "h lags")
	lags.On(arrives, "caught up late").MarkSuccess().EndRun()
	waits.On(arrives, "caught up at once").MarkOptional().EndRun()
	for _, s := range []*State{waits, lags} {
		s.On(committed(), "decided").MarkOptional().EndRun()
	}
	watch(sc, rounds)
	nils(sc)
	sc.If(signed(h), From(h), inRound(0)).Named("no votes of h in round 0").Then(Drop())
	if ours {
		sc.If(m.InState("catch up")).Named("release").Auxiliary().Once().Then(ReleaseAll("late"), Continue())
		sc.If(m.InState(Start), votes, To(h)).Named("h hears no votes").Then(Store("late"))
		blind(sc, m.InState(Start))
	} else {
		sc.If(m.InState(Start), votes, To(h), inRound(0)).Named("h hears no votes of round 0").Then(Drop())
	}
	return sc
}

// ForeverLaggingReplica lets h receive only votes that are two rounds behind, until the others have reached round
// five; then all decide. The published scenario never set its variable for the round.
func ForeverLaggingReplica(ours bool) *Scenario {
	sc, m := lagging("ForeverLaggingReplica", ForeverRounds)
	now := Variable[int32]("the newest round")
	sc.If(Value(tendermint.EventStep, "the first height", func(s *tendermint.Step) bool {
		return s.Height == 1 &&
			s.Step == "prevote"
	})).
		Named("remember the round").
		Auxiliary().
		Then(CaptureValue(now, "its round", func(s *tendermint.Step) int32 { return s.Round }), Continue())
	fate := Drop()
	if ours {
		fate = Store("late")
		sc.If(m.InState("catch up")).Named("release").Auxiliary().Once().Then(ReleaseAll("late"), Continue())
		blind(sc, m.InState(Start))
	}
	sc.If(m.InState(Start), votes, To(h), BodyWith(now, "newer than two rounds ago",
		func(m *tendermint.Message, r int32) bool { return m.Height == 1 && m.Round > r-2 })).
		Named("h hears old votes only").
		Then(fate)
	if !ours {
		sc.If(signed(h), From(h), inRound(0)).Named("no votes of h in round 0").Then(Drop())
	}
	return sc
}

// RoundSkip withholds the prevotes of h until all validators have reached round 2.
func RoundSkip(bool) *Scenario {
	sc := New("RoundSkip").Faults(faulty)
	m := sc.Machine()
	m.On(reached(2).Ge(all), "round 2").
		On(IsReceive().And(Type(tendermint.Prevote), InSet("withheld")), "late prevote").
		MarkSuccess().
		EndRun()
	m.On(committed(), "decided").MarkOptional().EndRun()
	watch(sc, 2)
	nils(sc)
	sc.If(m.InState("round 2")).Named("release").Auxiliary().Once().Then(ReleaseAll("late"), Continue())
	sc.If(m.InState(Start), Type(tendermint.Prevote), From(h), signed(h)).
		Named("withhold").
		Then(Record("withheld"), Store("late"))
	return sc
}

// IdleTime is the time without events that BlockVotes and NotNilDecide expect, in virtual time.
const IdleTime = 300 * time.Millisecond

// BlockVotes checks that without 2f+1 prevotes no validator leaves round 0. In the published scenario every validator
// received 2f prevotes of others, which make 2f+1 with its own. Our filter delivers one less.
func BlockVotes(ours bool) *Scenario {
	sc := New("BlockVotes").Faults(faulty)
	m := sc.Machine()
	m.On(committed(), "decided").MarkOptional().EndRun()
	m.On(Value(tendermint.EventStep, "round 1", func(s *tendermint.Step) bool { return s.Round > 0 }), "round 1").
		MarkOptional().
		EndRun()
	m.On(Since(trace.Time(IdleTime)), "no validator moved").MarkSuccess().EndRun()
	heard := 2 * f
	if ours {
		heard--
	}
	return sc.Use(AtMost(heard, Type(tendermint.Prevote), ByReceiver))
}

// PrecommitInvariant checks that no validator precommits a block that no validator could see.
func PrecommitInvariant(bool) *Scenario {
	sc := New("PrecommitInvariant").Faults(faulty)
	m := sc.Machine()
	seen := m.On(IsSend().And(Type(tendermint.Proposal), inRound(0)), "proposed")
	for n := range trace.AllNodes(all).All() {
		seen.On(precommitted(zero, n).And(Value(tendermint.EventPrecommit, "round 0",
			func(v *tendermint.Vote) bool { return v.Round == 0 })), "precommitted").
			MarkOptional().
			EndRun()
	}
	seen.On(reached(1).Ge(all), "round 1").MarkSuccess().EndRun()
	watch(sc, 1)
	remember(sc)
	sc.If(Type(tendermint.Proposal), inRound(0)).Named("no validator sees the proposal").Then(Drop())
	return sc
}

// CommitAfterRoundSkip delivers votes of h of round 0 when all are in round 1, and the validators decide the block of
// round 0.
func CommitAfterRoundSkip(bool) *Scenario {
	sc := New("CommitAfterRoundSkip").Faults(faulty)
	m := sc.Machine()
	one := m.On(reached(1).Ge(all), "round 1")
	one.On(ValueWith(zero, tendermint.EventCommit, "the first block",
		func(c *tendermint.Commit, b string) bool { return c.Height == 1 && c.Block == b }), "decided").
		MarkSuccess().
		EndRun()
	one.On(committed(), "another is decided").MarkOptional().EndRun()
	m.On(committed(), "decided early").MarkOptional().EndRun()
	watch(sc, 1)
	remember(sc)
	nils(sc)
	sc.If(m.InState("round 1")).Named("release").Auxiliary().Once().Then(ReleaseAll("late"), Continue())
	sc.If(m.InState(Start), signed(h), From(h), inRound(0)).Named("withhold").Then(Store("late"))
	return sc
}

// DifferentDecisions tries to make 3, which receives nothing newer, decide the first block, which h has locked, while
// the others decide another. When the others have reached round 2, the messages withheld from 3 arrive. The scenario
// succeeds when a validator decides then; the spec checks that no two validators decide differently. The published
// scenario succeeded when h had precommitted the first block and not another. Our filter keeps the Byzantine
// validator from leaving, and loses only the prevotes of h: without its precommits no validator leaves round 0.
func DifferentDecisions(ours bool) *Scenario {
	const delay = 3
	sc := New("DifferentDecisions").Faults(faulty)
	m := sc.Machine()
	old := m.On(precommitted(zero, h), "h is locked")
	attack := old.On(reached(2).Ge(2*f+1), "3 hears all")
	attack.On(committed(), "decided").MarkSuccess().EndRun()
	for _, s := range []*State{m.State, old} {
		s.On(committed(), "decided early").MarkOptional().EndRun()
	}
	watch(sc, 2)
	remember(sc)
	sc.If(m.InState("3 hears all")).Named("release").Auxiliary().Once().Then(ReleaseAll("old"), Continue())
	sc.If(m.InState("3 hears all").Not(), To(delay), inRound(0), signed(h, byzantineNode, 4)).
		Named("withhold").
		Then(Store("old"))
	sc.If(m.InState("3 hears all").Not(), To(delay), later).Named("3 hears nothing newer").Then(Drop())
	unheard := votes
	if ours {
		unheard = Type(tendermint.Prevote)
	}
	sc.If(signed(h), From(h), inRound(0), unheard).Named("no validator hears h").Then(Drop())
	freshly(sc)
	if ours {
		blind(sc, m.InState("3 hears all").Not())
	} else {
		sc.If(Type(tendermint.Proposal), later, isZero).Named("the first block is not proposed again").Then(Drop())
	}
	return sc
}

// NilPrevotes checks that a validator, drawn for each run, with a polka for nil precommits nil. The published
// scenario counted 2f+1 prevotes of others, including copies.
func NilPrevotes(bool) *Scenario {
	sc := New("NilPrevotes").Faults(faulty)
	p := sc.Pick("p", 1)
	m := sc.Machine()
	signer := By("signer", func(m *Moment) uint64 { return uint64(m.Body().(*tendermint.Message).By) })
	heard := Count("nil prevotes").Distinct(signer)
	m.On(heard.Ge(2*f), "polka").
		On(Value(tendermint.EventPrecommit, "nil", func(v *tendermint.Vote) bool {
			return v.Height == 1 &&
				v.Block == tendermint.Nil
		}).And(AtGroup(p)), "precommitted nil").
		MarkSuccess().EndRun()
	sc.If(Type(tendermint.Proposal)).Named("no validator sees a proposal").Then(Drop())
	sc.If(IsReceive(), Type(tendermint.Prevote), ToGroup(p), inRound(0),
		about("for nil", func(m *tendermint.Message) bool { return m.Block == tendermint.Nil })).
		Named("count").
		Auxiliary().
		Then(heard.Incr())
	return sc
}

// ProposalNilPrevote checks that a validator that receives no proposal in time prevotes nil. Here it is 3: h
// proposes. Our filter withholds the votes of others from it: often they decide before its timeout.
func ProposalNilPrevote(ours bool) *Scenario {
	const blind = 3
	sc := New("ProposalNilPrevote").Faults(faulty)
	m := sc.Machine()
	m.On(voted(tendermint.EventPrevote, blind, "nil", func(v *tendermint.Vote) bool {
		return v.Round == 0 &&
			v.Block == tendermint.Nil
	}), "prevoted nil").
		MarkSuccess().
		EndRun()
	m.On(voted(tendermint.EventPrevote, blind, "a block", func(v *tendermint.Vote) bool {
		return v.Round == 0 &&
			v.Block != tendermint.Nil
	}), "prevoted a block").
		MarkOptional().
		EndRun()
	sc.If(Type(tendermint.Proposal), To(blind), inRound(0)).Named("it sees no proposal").Then(Drop())
	if ours {
		sc.If(votes, To(blind), inRound(0)).Named("it hears no votes").Then(Drop())
	}
	return sc
}

// NotNilDecide checks that no validator decides nil, although nil has many votes.
func NotNilDecide(bool) *Scenario {
	sc := New("NotNilDecide").Faults(faulty)
	m := sc.Machine()
	m.On(Value(tendermint.EventCommit, "nil", func(c *tendermint.Commit) bool { return c.Block == tendermint.Nil }),
		Fail)
	m.On(reached(2).Ge(all), "round 2").MarkSuccess().EndRun()
	m.On(committed(), "decided").MarkOptional().EndRun()
	watch(sc, 2)
	nils(sc)
	sc.If(signed(h), From(h)).Named("no validator hears h").Then(Drop())
	return sc
}

// harmless is a scenario in which all correct validators receive a forged message and decide after it. The published
// scenario only required that a validator decides, which happens without a Byzantine validator, too.
func harmless(name string, forged Condition) *Scenario {
	sc := New(name).Faults(faulty)
	heard := Count("receivers of a forged message").Distinct(ByReceiver)
	m := sc.Machine()
	m.On(heard.Ge(2*f+1), "all heard the Byzantine node").On(committed(), "decided").MarkSuccess().EndRun()
	m.On(committed(), "decided early").MarkOptional().EndRun()
	sc.If(IsReceive(), From(byzantineNode), To(h, 3, 4), forged).Named("count the receivers").Auxiliary().
		Then(heard.Incr(), Continue())
	return sc
}

// GarbledMessage checks that the others decide although the Byzantine validator sends only random bytes.
func GarbledMessage(bool) *Scenario {
	sc := harmless("GarbledMessage", Type(tendermint.Garbled))
	sc.If(From(byzantineNode)).Named("the Byzantine node sends noise").Then(garble(100))
	return sc
}

// HigherRound checks that the others decide although the votes of the Byzantine validator are of later rounds.
func HigherRound(bool) *Scenario {
	sc := harmless("HigherRound",
		votes.And(about("two rounds ahead", func(m *tendermint.Message) bool { return m.Round >= 2 })))
	sc.If(signed(byzantineNode), From(byzantineNode)).
		Named("the Byzantine node votes two rounds ahead").
		Then(ballot("two rounds ahead", func(_ *Moment, m *tendermint.Message) *tendermint.Ballot {
			return &tendermint.Ballot{Round: m.Round + 2, Like: m}
		}))
	return sc
}
