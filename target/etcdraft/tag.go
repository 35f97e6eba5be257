package etcdraft

import (
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// The rounds of a term: a vote is asked for and given, entries are sent and acknowledged,
// and then the leader tells what follows from the acknowledgements, which is acknowledged
// like entries: what is committed, what a read may see, what a node that is behind lacks.
// What goes to a leader outside of this (proposals and read requests that are forwarded,
// leadership transfers) travels in the first round, so that it can be part of the entries
// of the same phase.
var (
	rounds        = []string{"Vote", "VoteResp", "App", "AppResp", "Commit", "CommitResp"}
	preVoteRounds = append([]string{"PreVote", "PreVoteResp"}, rounds...)
)

func (c Cluster) rounds() []string {
	switch {
	case c.Layers:
		return nil
	case c.PreVote:
		return preVoteRounds
	default:
		return rounds
	}
}

// travel says in which rounds a message travels, counted from Vote; those of PreVote are
// before it.
type travel struct {
	first int32
	again int32 // two rounds after the first, where there is such a round; else the first
}

// travels has the rounds of all types of messages.
var travels = [raftlib.Types]travel{
	raftlib.MsgPreVote: {-2, -2}, raftlib.MsgPreVoteResp: {-1, -1},
	raftlib.MsgVote: {0, 0}, raftlib.MsgVoteResp: {1, 1},
	raftlib.MsgApp: {2, 4}, raftlib.MsgHeartbeat: {2, 4}, raftlib.MsgSnap: {2, 4},
	raftlib.MsgReadIndexResp: {2, 4}, raftlib.MsgTimeoutNow: {2, 4},
	raftlib.MsgAppResp: {3, 5}, raftlib.MsgHeartbeatResp: {3, 5},
}

// toLeader are the types that travel in the first round of all.
var toLeader = [...]raftlib.Type{raftlib.MsgProp, raftlib.MsgReadIndex, raftlib.MsgTransferLeader}

// travels lists the rounds of messages by their types.
func (c Cluster) travels() [raftlib.Types]travel {
	list := travels
	for t := range list {
		if c.PreVote {
			list[t].first += 2
			list[t].again += 2
		}
		list[t].first, list[t].again = max(list[t].first, 0), max(list[t].again, 0)
	}
	for _, t := range toLeader {
		list[t] = travel{}
	}
	return list
}

// tag is the phase and the round of a message: its term, and the next round in which
// messages of its kind travel after that of what the sender acts on. A message without a
// term is dated by its sender's.
func (d *Deployment) tag(e raftlib.Envelope, senderTerm uint64) trace.Tag {
	if d.cluster.Layers {
		return trace.Tag{}
	}
	term := e.Term
	if term == 0 {
		term = senderTerm
	}
	t := d.travels[e.Type]
	round := t.first
	if round <= d.acting && d.acting < t.again {
		round = t.again
	}
	return trace.Tag{Phase: int32(term), Round: round}
}
