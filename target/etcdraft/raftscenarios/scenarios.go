// Package raftscenarios holds the eleven Raft scenarios of the Netrix paper (Table 3
// there), re-created by their intent on etcd's raft v3.5.2, the version that the paper
// tested. Some of the published tests could not fail, or not succeed; what differs here
// is said beside each scenario.
//
// The nodes, as in the paper, are five, with an election time-out of ten ticks and a
// heartbeat every tick, and neither PreVote nor CheckQuorum.
package raftscenarios

import (
	pb "go.etcd.io/etcd/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/trace"
)

// f is the number of nodes of five that may fail.
const f = 2

// Cluster is the system under test: five nodes of etcd's raft v3.5.2.
var Cluster = v35.Cluster{Nodes: 5, Election: 10, Heartbeat: 1, Clients: etcdraft.None}

// Safe is the same with the two options that overcome the liveness bugs.
var Safe = with(Cluster, func(c *v35.Cluster) { c.PreVote, c.CheckQuorum = true, true })

func with(c v35.Cluster, change func(*v35.Cluster)) v35.Cluster {
	change(&c)
	return c
}

// lossy is the fault model of all of them: links lose messages, nodes do not fail.
var lossy = lockstep.Budget{Losses: lockstep.Unlimited}

// timely makes the network and the clocks behave: what is live is so only then. Without
// it the strategy may leave a message or a clock that it delays for the whole run.
func timely(sc *Scenario) { sc.Use(OnTime(), Overtaken(40)) }

// leader holds when a node becomes leader.
func leader() Condition { return IsEvent(etcdraft.BecameLeader) }

// changes counts the times that a different node becomes leader. The machine succeeds
// when that has happened more than four times after the first election: leadership
// keeps moving. The published machine never counted anything.
func changes(sc *Scenario) *Machine {
	different := leader().And(AtGroup(Marked("leader")).Not())
	m := sc.Machine()
	m.On(different.And(Count("leaders").Gt(4)), "leadership keeps moving").MarkSuccess().EndRun()
	sc.If(different).Named("count a different leader").Then(Count("leaders").Incr(), Mark("leader"), Count("stale").Reset())
	return m
}

// Liveness is the partially connected cluster: 4 sees only 2 and 5 sees only 3, so that
// their terms grow and disturb whoever leads the triangle of 1, 2 and 3.
func Liveness() *Scenario {
	sc := New("Liveness").Faults(lossy).Use(timely)
	changes(sc)
	return sc.Use(BreakLinks([2]lockstep.Node{4, 1}, [2]lockstep.Node{4, 3}, [2]lockstep.Node{4, 5},
		[2]lockstep.Node{5, 1}, [2]lockstep.Node{5, 2}))
}

// LivenessNoCQ is the same with the link between 4 and 5: now everyone can win, and nobody
// reaches everyone. Leadership keeps moving, or two nodes lead for good: one that has
// lost its quorum does not step down without CheckQuorum, and keeps its last follower.
func LivenessNoCQ() *Scenario {
	sc := New("LivenessNoCQ").Faults(lossy).Use(timely)
	term := By("term", func(m *Moment) uint64 { return m.Body().(pb.Message).Term })
	older := Like("leaders", "older than another leader", func(now, other pb.Message) bool { return now.Term < other.Term })
	stale := IsSend().And(Type("MsgHeartbeat"), older)
	changes(sc).On(stale.And(Count("stale").Ge(200)), "leads without a quorum").MarkSuccess().MarkDead().EndRun()
	sc.If(IsSend(), Type("MsgApp")).Named("remember a leader").Once().Per(term).Aside().Then(Record("leaders"), Continue())
	sc.If(stale).Named("count heartbeats of an older leader").Aside().Then(Count("stale").Incr(), Continue())
	return sc.Use(BreakLinks([2]lockstep.Node{4, 1}, [2]lockstep.Node{4, 3}, [2]lockstep.Node{5, 1}, [2]lockstep.Node{5, 2}))
}

// NoLiveness cuts the leader 4 off from all but 2, while 5 is down. 4 cannot commit
// anything any more, and without CheckQuorum it does not notice: it leads on, until the
// term of another candidate deposes it, if ever. With CheckQuorum it steps down in a
// tick of its own.
func NoLiveness() *Scenario {
	sc := New("NoLiveness").Faults(lossy).Use(timely)
	m := sc.Machine()
	cut := m.On(leader().And(At(4)), "cut off")
	follower := IsEvent(etcdraft.BecameFollower).And(At(4))
	cut.On(follower.And(During(trace.Alarm)), "stepped down by itself").MarkDead().EndRun()
	cut.On(follower, "deposed").MarkSuccess().EndRun()
	beat := IsSend().And(Type("MsgHeartbeat"), From(4), m.InState("cut off"))
	cut.On(beat.And(Count("beats").Ge(200)), "leads without a quorum").MarkSuccess().MarkDead().EndRun()
	sc.If(beat).Named("count the heartbeats").Then(Count("beats").Incr(), Continue())
	sc.If(IsReceive(), Type("MsgHeartbeatResp"), To(4), From(1, 3)).Named("4 has a quorum").Aside().Then(Count("beats").Reset(), Continue())
	sc.Use(IsolateWhile(Only(5), All()))
	sc.If(m.InState("cut off"), Any(Link(4, 1), Link(4, 3))).Named("4 reaches only 2").Then(Drop())
	sc.If(m.InState(Start), Type("MsgVoteResp", "MsgPreVoteResp"), To(4).Not()).Named("4 is first").Then(Drop())
	return sc
}

// DropHeartbeat: a node, drawn for each run, that hears no more from the leader starts
// an election. Published, its first edge could never be taken.
func DropHeartbeat() *Scenario {
	sc := New("DropHeartbeat").Faults(lossy).Use(timely)
	p := sc.Pick("p", 1)
	m := sc.Machine()
	m.On(leader(), "elected").
		On(IsEvent(etcdraft.BecameCandidate).And(AtGroup(p)), "p campaigns").MarkSuccess().EndRun()
	sc.If(Type("MsgVoteResp"), ToGroup(p)).Named("p never leads").Then(Drop())
	sc.If(m.InState("elected"), Type("MsgHeartbeat", "MsgApp", "MsgSnap"), ToGroup(p)).Named("p hears nothing").Then(Drop())
	return sc
}

// DropVotes: a node whose requests for votes are lost ends up following another. Here 4
// is the first to campaign, so that there are requests to lose.
func DropVotes() *Scenario {
	sc := New("DropVotes").Faults(lossy).Use(timely)
	others := Only(4).Others()
	campaigns := IsEvent(etcdraft.BecameCandidate).And(At(4))
	m := sc.Machine()
	m.On(campaigns, "4 campaigns").On(IsSend().And(Type("MsgApp"), To(4)), "4 follows").MarkSuccess().EndRun()
	m.At("4 campaigns").On(IsReceive().And(Type("MsgVote"), From(4)), Fail)
	sc.If(Did(trace.Start)).Named("the others wait").Then(HoldAlarms(others))
	sc.If(campaigns).Named("until 4 campaigns").Then(ReleaseAlarms(others))
	sc.If(Type("MsgVote"), From(4)).Named("nobody hears it").Then(Drop())
	return sc
}

// DropFVotes loses f votes for each candidate of each term: there are still enough.
// Published, the filter never fired and the machine never moved.
func DropFVotes() *Scenario {
	sc := New("DropFVotes").Faults(lossy).Use(timely)
	sc.Machine().On(leader(), "elected").MarkSuccess().EndRun()
	election := By("term and candidate", func(m *Moment) uint64 { return m.Body().(pb.Message).Term<<8 | uint64(m.Message.To) })
	return sc.Use(DropFirst(f, Type("MsgVoteResp"), election))
}

// DropAppend loses the first MsgApp: it is sent again. Published, all later ones were
// lost as well.
func DropAppend() *Scenario {
	sc := New("DropAppend").Faults(lossy).Use(timely)
	again := Like("lost", "the same entries to the same node", func(now, lost pb.Message) bool {
		return now.Type == lost.Type && now.To == lost.To && now.Index == lost.Index
	})
	sc.Machine().On(IsSend().And(again), "sent again").MarkSuccess().EndRun()
	sc.If(Type("MsgApp"), IsSend()).Once().Then(Record("lost"), Drop())
	return sc
}

// ReVote withholds the votes of 4 until there is a leader, whom they reach late. Requests
// reach 4 first, so that there are votes to withhold.
func ReVote() *Scenario {
	sc := New("ReVote").Faults(lossy).Use(timely)
	m := sc.Machine()
	m.On(leader(), "elected").On(IsReceive().And(Type("MsgVoteResp"), From(4)), "late vote").MarkSuccess().EndRun()
	sc.If(m.InState(Start), Type("MsgVote"), To(4)).Named("4 votes first").Then(Deliver())
	sc.If(m.InState(Start), Type("MsgVoteResp"), From(4)).Named("withhold").Then(Store("late"))
	sc.If(leader()).Named("release").Then(ReleaseAll("late"))
	sc.If(Type("MsgVoteResp"), To(4)).Named("4 never leads").Then(Drop())
	return sc
}

// ManyReVote withholds the votes of 4 into a later term: until it has campaigned and
// become a follower again. Published, that it campaigns was left to chance.
func ManyReVote() *Scenario {
	sc := New("ManyReVote").Faults(lossy).Use(timely)
	m := sc.Machine()
	m.On(leader(), "elected").
		On(IsEvent(etcdraft.BecameCandidate).And(At(4)), "4 campaigns").
		On(IsEvent(etcdraft.BecameFollower).And(At(4)), "4 follows").
		On(IsReceive().And(Type("MsgVoteResp"), From(4)), "late vote").MarkSuccess().EndRun()
	sc.If(m.InState(Start), Type("MsgVote"), To(4)).Named("4 votes first").Then(Deliver())
	sc.If(m.InState(Start), Type("MsgVoteResp"), From(4)).Named("withhold").Then(Store("late"))
	sc.If(m.InState("4 follows"), SetHas(1, "late")).Named("release").Once().Then(ReleaseAll("late"))
	sc.If(m.InState("elected"), Type("MsgHeartbeat", "MsgApp", "MsgSnap"), To(4)).Named("4 hears nothing").Then(Drop())
	sc.If(Type("MsgVoteResp"), To(4)).Named("4 never leads").Then(Drop())
	return sc
}

// MultiReVote loses the votes and the acknowledgements of 4: the leader goes on sending
// it heartbeats. That 4 never leads was left to chance.
func MultiReVote() *Scenario {
	sc := New("MultiReVote").Faults(lossy).Use(timely)
	m := sc.Machine()
	m.On(IsReceive().And(Type("MsgVoteResp", "MsgAppResp"), From(4)), Fail)
	m.On(IsSend().And(Type("MsgAppResp"), From(4)), "acknowledged").
		On(IsSend().And(Type("MsgHeartbeat"), To(4)), "heartbeat").MarkSuccess().EndRun()
	sc.If(Type("MsgVoteResp", "MsgAppResp"), From(4)).Then(Drop())
	sc.If(Type("MsgVote"), From(4)).Named("4 never leads").Then(Drop())
	return sc
}
