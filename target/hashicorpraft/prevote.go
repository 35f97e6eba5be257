//go:build !v1.3

package hashicorpraft

import (
	"slices"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep/bubble"
)

func configurePreVote(conf *raft.Config, on bool) { conf.PreVoteDisabled = !on }

// RequestPreVote asks whether the candidate could win an election.
func (t *transport) RequestPreVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse) error {
	return do(t, to, "RequestPreVote", args, resp)
}

// watchPreVote checks a node's response to a pre-vote. It records the state before, and returns the function that
// checks the response. The check is conclusive only if the node did nothing else meanwhile.
func (r *replica) watchPreVote(n *bubble.Node, command any) func(response any) {
	req, ok := command.(*raft.RequestPreVoteRequest)
	if !ok {
		return nil
	}
	busy, served := r.trans.busy.Load(), r.trans.served.Load()
	leader, _ := r.raft.LeaderWithID()
	var index, term uint64
	r.disk.Read(func(s *store) { index, term = s.last() })
	complete := req.LastLogTerm > term || req.LastLogTerm == term && req.LastLogIndex >= index
	asked := PreVoted{From: nodeOf(raft.ServerAddress(req.Addr)), Term: req.Term,
		Leader: leader == raft.ServerAddress(req.Addr) &&
			r.votes(leader), Newer: req.Term > r.term(), Complete: complete}
	contact := r.raft.LastContact()
	return func(response any) {
		after := r.raft.LastContact() // first: the goroutine may stop in it while another request arrives
		if resp, ok := response.(*raft.RequestPreVoteResponse); ok && busy == 1 && served+1 == r.trans.served.Load() {
			// a former leader may just be stepping down, which counts as contact, too
			asked.Granted, asked.Contact = resp.Granted, !r.led.Load() && !after.Equal(contact)
			n.Emit(EventPreVote, &asked)
		}
	}
}

// votes reports whether a node is a voter, in this node's view. Nodes refuse others, leader or not.
func (r *replica) votes(address raft.ServerAddress) bool {
	return slices.ContainsFunc(r.raft.GetConfiguration().Configuration().Servers, func(s raft.Server) bool {
		return s.Address == address && s.Suffrage == raft.Voter
	})
}

func (t *text) preVote(body any) {
	switch b := body.(type) {
	case *raft.RequestPreVoteRequest:
		t.number("term", b.Term).pair("last", b.LastLogTerm, b.LastLogIndex)
	case *raft.RequestPreVoteResponse:
		t.number("term", b.Term).flag("granted", b.Granted)
	}
}
