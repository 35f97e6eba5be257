package etcdraft

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// The rounds of a term: a vote is asked for and given, then entries are sent and
// acknowledged. What goes to a leader outside of this (proposals and read requests that
// are forwarded, leadership transfers) travels in the first round, so that it can be
// part of the entries of the same phase.
var (
	rounds        = []string{"Vote", "VoteResp", "App", "AppResp"}
	preVoteRounds = []string{"PreVote", "PreVoteResp", "Vote", "VoteResp", "App", "AppResp"}
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

// roundOf is the round of a message without PreVote; those of PreVote come before.
var roundOf = [raftlib.Types]int32{
	raftlib.MsgVote: 0, raftlib.MsgVoteResp: 1,
	raftlib.MsgApp: 2, raftlib.MsgHeartbeat: 2, raftlib.MsgSnap: 2,
	raftlib.MsgAppResp: 3, raftlib.MsgHeartbeatResp: 3,
	raftlib.MsgProp: -1, raftlib.MsgReadIndex: -1, raftlib.MsgTransferLeader: -1, raftlib.MsgTimeoutNow: -1, raftlib.MsgReadIndexResp: -1,
	raftlib.MsgPreVote: -1, raftlib.MsgPreVoteResp: -1,
}

// roundsOf lists the rounds of messages by their types.
func (c Cluster) roundsOf() [raftlib.Types]int32 {
	list := roundOf
	for t := range list {
		switch round := &list[t]; {
		case raftlib.Type(t) == raftlib.MsgPreVoteResp:
			*round = 1
		case *round < 0:
			*round = 0
		case c.PreVote:
			*round += 2
		}
	}
	return list
}

// tag is the phase and the round of a message: its term and its kind. A message without
// a term is dated by its sender's.
func (d *Deployment) tag(e *raftlib.Envelope, senderTerm uint64) lockstep.Tag {
	if d.cluster.Layers {
		return lockstep.Tag{}
	}
	term := e.Term
	if term == 0 {
		term = senderTerm
	}
	return lockstep.Tag{Phase: int32(term), Round: d.round[e.Type]}
}
