package bftsmart

import (
	_ "embed" // the table counts the lines of the scenarios
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/published"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Cases are the eight scenarios of the Netrix paper about BFT-SMaRt (Table 3 there), rebuilt from their descriptions,
// in the order of the paper. The paper's replica 3 is node 4 here.
var Cases = []published.Case{
	{Name: "DPropForP", Help: "a proposal of epoch 0 arrives in epoch 1", Build: DPropForP,
		Filters: 2, States: 3, Lines: 60, Published: 81},
	{Name: "DPropSame", Help: "a proposal arrives after votes to accept it", Build: DPropSame,
		Filters: 2, States: 2, Lines: 40, Published: 100},
	{Name: "DropWrite", Help: "all WRITE are lost: the leader changes", Build: DropWrite,
		Filters: 1, States: 2, Lines: 30, Published: 100},
	{Name: "DropWriteForP", Help: "WRITE to one replica are lost: the others decide", Build: DropWriteForP,
		Filters: 1, States: 2, Lines: 33, Published: 89},
	{Name: "ExpectNewEpoch", Help: "all proposals are lost: the leader changes", Build: ExpectNewEpoch,
		Filters: 1, States: 2, Lines: 28, Published: 94},
	{Name: "ExpectStop", Help: "a replica that cannot decide wants another leader", Build: ExpectStop,
		Filters: 1, States: 2, Lines: 38, Published: 100},
	{Name: "ByzLeaderChange", Help: "one replica votes late and one for garbage: the leader changes",
		Build: ByzLeaderChange, Filters: 3, States: 2, Lines: 46, Published: 89},
	{Name: "PrevEpochProposal", Help: "proposals of epoch 0 arrive in epoch 1, which decides", Build: PrevEpochProposal,
		Filters: 2, States: 3, Lines: 53, Published: 99},
}

//go:embed scenarios.go
var source string

// Table measures the scenarios again.
var Table = published.Table{Title: "BFT-SMaRt 0.0.8, JD's fork", Cases: Cases, Plan: Plan, Source: source}

// Plan returns a campaign of a scenario: one request for each run, and the paper's strategy.
func Plan(sc *Scenario, runs int, seed uint64) lockstep.Plan {
	return lockstep.Plan{
		System:   Cluster{Requests: 1, Timeout: time.Second, Pace: 200 * time.Millisecond},
		Spec:     Promise,
		Scenario: sc,
		Strategy: strategy.PCTCP{
			Depth:  6,
			Events: 40,
			Late:   10,
			Fair:   true,
			Steps:  100,
		},
		Runs:        runs,
		Seed:        seed,
		Workers:     1,
		KeepGoing:   true,
		Keep:        1,
		Repetitions: 3,
		// a run with a replica that floods ends early; other runs have some dozens in flight
		MaxInFlight: 500,
	}
}

// p is the replica that most scenarios concern.
const p lockstep.Node = 4

// begin returns a scenario in which the client sends its request at the start, and a machine for it.
func begin(name string, faults lockstep.Budget) (*Scenario, *Machine) {
	sc := New(name).Faults(faults).Reserve()
	m := sc.Machine()
	sc.If(Did(trace.Start)).Named("the client asks").Auxiliary().Then(Request("", Only(1)))
	return sc, m
}

// lossy is the fault model of most scenarios: links lose messages.
var lossy = lockstep.Budget{Losses: lockstep.Unlimited}

// epoch holds for messages of an epoch that have one of the given types.
func epoch(number int, types ...string) Condition {
	return Type(
		types...).And(Body("of epoch "+string(rune('0'+number)), func(m Message) bool { return m.Epoch == number }))
}

// newEpoch holds when a replica has changed to an epoch.
func newEpoch(number int) Condition {
	return Value(EventNewEpoch, "of epoch "+string(rune('0'+number)), func(epoch int) bool { return epoch == number })
}

// steer adds our filters: messages that no other filter matches are delivered at once.
func steer(sc *Scenario, ours bool) *Scenario {
	if ours {
		sc.If(IsSend()).Named("the rest at once").Then(Deliver())
	}
	return sc
}

// late is the set of messages that are withheld.
const late = "late"

// release releases withheld messages: to the strategy as published, or at once.
func release(ours bool) Action {
	if ours {
		return DeliverAll(late)
	}
	return ReleaseAll(late)
}

// DPropForP delays the proposal of epoch 0 for a replica until that replica receives a message of epoch 1. The
// published scenario requires only the arrival of the proposal.
func DPropForP(ours bool) *Scenario {
	sc, m := begin("DPropForP", lossy)
	changed := IsReceive().And(To(p), epoch(1, "WRITE"))
	m.On(changed, "in epoch 1").On(IsReceive().And(To(p), epoch(0, "PROPOSE")), "late proposal").MarkSuccess().EndRun()
	sc.If(epoch(0, "WRITE")).Named("no WRITE in epoch 0").Then(Drop())
	sc.If(epoch(0, "PROPOSE"), To(p)).Named("withhold the proposal").Then(Store(late))
	sc.If(changed).Named("release it").Then(release(ours))
	return steer(sc, ours)
}

// DPropSame delays the proposal for a replica until the replica receives an ACCEPT; it decides nevertheless. The
// published scenario requires only the decision; here the proposal must also have arrived late.
func DPropSame(ours bool) *Scenario {
	sc, m := begin("DPropSame", lossy)
	accepted := IsReceive().And(To(p), Type("ACCEPT"))
	m.On(accepted, "accepted").On(IsReceive().And(To(p), Type("PROPOSE")), "late proposal").
		On(IsEvent(EventExecuted).And(At(p)), "decided").MarkSuccess().EndRun()
	sc.If(Type("PROPOSE"), To(p)).Named("withhold the proposal").Then(Store(late))
	sc.If(accepted).Named("release it").Then(release(ours))
	return steer(sc, ours)
}

// DropWrite drops all WRITE of epoch 0: the leader changes.
func DropWrite(ours bool) *Scenario {
	sc, m := begin("DropWrite", lossy)
	m.On(IsEvent(EventNewEpoch), "new epoch").MarkSuccess().EndRun()
	sc.If(epoch(0, "WRITE")).Named("no WRITE in epoch 0").Then(Drop())
	return steer(sc, ours)
}

// DropWriteForP drops all WRITE to a replica: the others decide.
func DropWriteForP(ours bool) *Scenario {
	sc, m := begin("DropWriteForP", lossy)
	m.On(IsEvent(EventDecided), "decided").MarkSuccess().EndRun()
	sc.If(Type("WRITE"), To(p)).Named("no WRITE to it").Then(Drop())
	return steer(sc, ours)
}

// ExpectNewEpoch drops all proposals of epoch 0: the leader changes.
func ExpectNewEpoch(ours bool) *Scenario {
	sc, m := begin("ExpectNewEpoch", lossy)
	m.On(IsEvent(EventNewEpoch), "new epoch").MarkSuccess().EndRun()
	sc.If(epoch(0, "PROPOSE")).Named("no proposal in epoch 0").Then(Drop())
	return steer(sc, ours)
}

// ExpectStop drops all ACCEPT of epoch 0 to a replica, which cannot decide and requests another leader.
func ExpectStop(ours bool) *Scenario {
	sc, m := begin("ExpectStop", lossy)
	m.On(IsSend().And(Type("STOP"), From(p)), "wants another leader").MarkSuccess().EndRun()
	sc.If(epoch(0, "ACCEPT"), To(p)).Named("no ACCEPT to it").Then(Drop())
	return steer(sc, ours)
}

// ByzLeaderChange withholds the votes of one replica in epoch 0 and replaces the value in those of another by random
// bytes. No replica decides, and the leader changes. In the published scenario, the corrupted messages also lost their
// sender and type.
func ByzLeaderChange(ours bool) *Scenario {
	sc, m := begin("ByzLeaderChange", lockstep.Budget{Byzantine: 1})
	votes := epoch(0, "WRITE", "ACCEPT")
	m.On(newEpoch(1), "epoch 1").MarkSuccess().On(IsReceive().And(votes, From(2)), "late vote").MarkSuccess().EndRun()
	sc.If(votes, From(2)).Named("withhold votes of 2").Then(Store(late))
	sc.If(IsEvent(EventNewEpoch)).Named("release them").Then(release(ours))
	garble := sc.If(votes, From(p)).Named("garble votes of 4")
	if ours {
		garble.Then(Forge("random bytes", garbled), Deliver())
	} else {
		garble.Then(Forge("random bytes", garbled))
	}
	return steer(sc, ours)
}

// garbled returns a message whose value is random bytes of the same length.
func garbled(m *Moment) string {
	msg, ok := m.Body().(Message)
	if !ok || len(msg.Value) == 0 {
		return ""
	}
	random := make([]byte, len(msg.Value))
	for i := range random {
		random[i] = byte(m.Rand().Uint32())
	}
	head, _, _ := strings.Cut(msg.String(), " value=")
	return head + " value=" + hex.EncodeToString(random)
}

// PrevEpochProposal withholds the proposals of epoch 0 until epoch 1, which decides nevertheless.
func PrevEpochProposal(ours bool) *Scenario {
	sc, m := begin("PrevEpochProposal", lossy)
	m.On(newEpoch(1), "epoch 1").On(IsEvent(EventDecided), "decided").MarkSuccess().EndRun()
	sc.If(epoch(0, "PROPOSE")).Named("withhold the proposals").Then(Store(late))
	sc.If(IsEvent(EventNewEpoch)).Named("release them").Then(release(ours))
	return steer(sc, ours)
}

// Defects are additional scenarios that show defects of this version. In them no replica fails and no message is lost;
// messages are only late.
var Defects = []published.Case{
	{Name: "LateVotes", Help: "votes of epoch 0 arrive in epoch 1: replicas decide differently", Build: LateVotes},
	{Name: "ExecutedTwice", Help: "one replica has decided when the leader changes: it executes a request twice",
		Build: ExecutedTwice},
}

// Violates returns the property that runs of a defect's scenario violate, or nothing for the other scenarios.
func Violates(name string) string {
	return map[string]string{"LateVotes": "agreement", "ExecutedTwice": "validity"}[name]
}

// LateVotes withholds all WRITE of epoch 0 until all replicas have changed to epoch 1, where the new leader has
// proposed a different batch. A replica of this version nevertheless counts them, and sends an ACCEPT in an epoch that
// it has left. Node 1 receives those votes and decides the old batch. The others receive those of epoch 1 and decide
// the new one.
func LateVotes(ours bool) *Scenario {
	sc, m := begin("LateVotes", lockstep.Budget{})
	second := IsEvent(EventDecided).And(At(2))
	m.On(IsEvent(EventDecided).And(At(1)), "1 decides").On(second, "2 decides").MarkSuccess()
	changed := Count("changed")
	sc.If(IsEvent(EventNewEpoch)).Named("count changes").Then(changed.Incr(), Continue())
	sc.If(IsEvent(EventNewEpoch), changed.Ge(replicas)).Named("release the WRITE").Then(DeliverAll(late))
	sc.If(epoch(0, "WRITE"), changed.Lt(replicas)).Named("withhold WRITE of epoch 0").Then(Store(late))
	sc.If(IsEvent(EventDecided), At(1)).Named("release the ACCEPT of epoch 1").Then(DeliverAll("new"))
	sc.If(epoch(1, "ACCEPT"), m.InState(Start)).Named("withhold ACCEPT of epoch 1").Then(Store("new"))
	sc.If(second).Named("release the ACCEPT of epoch 0").Then(DeliverAll("old"))
	sc.If(epoch(0, "ACCEPT"), To(2, 3, 4), m.InState("2 decides").Not()).
		Named("withhold ACCEPT of epoch 0").
		Then(Store("old"))
	return steer(sc, ours)
}

// ExecutedTwice lets one replica decide and the leader change. The new leader, which has not decided, learns the
// decision, and proposes the same request again.
func ExecutedTwice(ours bool) *Scenario {
	sc, m := begin("ExecutedTwice", lockstep.Budget{})
	m.On(IsEvent(EventExecuted).And(At(1)), "1 executes").On(IsEvent(EventNewEpoch), "leader changed").MarkSuccess()
	sc.If(epoch(0, "ACCEPT"), To(2, 3, 4), m.InState("leader changed").Not()).Named("withhold ACCEPT").Then(Store(late))
	sc.If(IsEvent(EventNewEpoch)).Named("release them").Then(DeliverAll(late))
	return steer(sc, ours)
}

// guides are the scenarios that can guide the target.
func guides() (all []target.Scenario) {
	for _, c := range slices.Concat(Cases, Defects) {
		all = append(all,
			target.Scenario{Name: c.Name, Help: c.Help, Build: func() lockstep.Scenario { return c.Build(true) }})
	}
	return all
}
