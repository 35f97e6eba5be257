//go:build !raft13

package hashicorpraft

import (
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep/bubble"
)

func configurePreVote(conf *raft.Config, on bool) { conf.PreVoteDisabled = !on }

// RequestPreVote asks whether an election could be won.
func (t *transport) RequestPreVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return call(t, to, "RequestPreVote", args, resp)
}

// watchPreVote judges how a node answers a pre-vote: it notes what is so before, and returns
// what looks at the answer.
func (r *replica) watchPreVote(n *bubble.Node, command any) func(response any) {
	req, ok := command.(*raft.RequestPreVoteRequest)
	if !ok {
		return nil
	}
	leader, _ := r.raft.LeaderWithID()
	var index, term uint64
	r.disk.Read(func(s *store) { index, term = s.last() })
	complete := req.LastLogTerm > term || req.LastLogTerm == term && req.LastLogIndex >= index
	asked := PreVoted{From: nodeOf(raft.ServerAddress(req.Addr)), Term: req.Term,
		Leader: leader == raft.ServerAddress(req.Addr), Newer: req.Term > r.term(), Complete: complete}
	contact := r.raft.LastContact()
	return func(response any) {
		if resp, ok := response.(*raft.RequestPreVoteResponse); ok {
			asked.Granted, asked.Contact = resp.Granted, !r.raft.LastContact().Equal(contact)
			n.Emit(EventPreVote, &asked)
		}
	}
}

func preVoteText(body any) string {
	switch b := body.(type) {
	case *raft.RequestPreVoteRequest:
		return fmt.Sprintf("term=%d last=%d/%d", b.Term, b.LastLogTerm, b.LastLogIndex)
	case *raft.RequestPreVoteResponse:
		return fmt.Sprintf("term=%d granted=%v", b.Term, b.Granted)
	}
	return ""
}
