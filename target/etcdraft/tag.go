package etcdraft

import (
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// The rounds of a term. In the first two, candidates request votes and nodes grant them. In the next two, the leader
// sends entries and nodes acknowledge them. Then the leader sends the consequences, which nodes acknowledge like
// entries: the commit index, the index that a read may see, the entries that a lagging node lacks. Other messages to
// a leader travel in the first round: forwarded proposals and read requests, and leadership transfers. The entries of
// the same phase can thus include them.
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

// travel lists the rounds in which a message travels, counted from Vote; those of PreVote precede it.
type travel struct {
	first int32
	again int32 // two rounds after the first, if there is such a round; otherwise the first
}

// travels has the rounds of all types of messages.
var travels = [raftlib.Types]travel{
	raftlib.MsgPreVote: {-2, -2}, raftlib.MsgPreVoteResp: {-1, -1},
	raftlib.MsgVote: {0, 0}, raftlib.MsgVoteResp: {1, 1},
	raftlib.MsgApp: {2, 4}, raftlib.MsgHeartbeat: {2, 4}, raftlib.MsgSnap: {2, 4},
	raftlib.MsgReadIndexResp: {2, 4}, raftlib.MsgTimeoutNow: {2, 4},
	raftlib.MsgAppResp: {3, 5}, raftlib.MsgHeartbeatResp: {3, 5},
}

// toLeader are the types that travel in the very first round.
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

// tag is the phase and the round of a message. The phase is its term. The round is the next one for its kind after
// the round of the message that the sender acts on. A message without a term takes its sender's.
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
