//go:build !v3.6

package etcdraft_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/v37"
)

// TestLastReady asks the library for another Ready in the places where the adapter does not ask. There never is one,
// whatever the options and faults.
func TestLastReady(t *testing.T) {
	for _, c := range []etcdraft.Cluster{
		{},
		{PreVote: true, CheckQuorum: true, Transfers: 3},
		{MaxSizePerMsg: 1, MaxInflight: 1, Compact: 3},
		{Nodes: 1, PreVote: true},
		{Nodes: 5, Voters: 3, Changes: 5, Compact: 4, PreVote: true},
		{Async: true, HoldVotes: true, Compact: 3, MaxSizePerMsg: 1},
		{Async: true, HoldVotes: true, Nodes: 5, Voters: 3, Changes: 5, PreVote: true},
	} {
		listener := &listener{}
		_, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{
				System:   c.With(listener),
				Strategy: rough,
				Runs:     60,
				Steps:    300,
				Settle:   2000,
				Workers:  1,
				Seed:     1,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if listener.another > 0 || listener.spoke == 0 && c.Nodes != 1 {
			t.Errorf("%+v: after %d of %d Readys that only spoke there was another", c, listener.another,
				listener.spoke)
		}
	}
}

// listener is the library, with nodes that are asked once more than the adapter asks.
type listener struct {
	v37.Library
	spoke, another int
}

func (l *listener) NewNetwork(c raftlib.Config) raftlib.Network {
	return &listening{l.Library.NewNetwork(c), l}
}

type listening struct {
	raftlib.Network
	*listener
}

func (l *listening) NewNode(id lockstep.Node, source func() raftlib.Snapshot) raftlib.Node {
	return &speaker{Node: l.Network.NewNode(id, source), listener: l.listener}
}

type speaker struct {
	raftlib.Node
	*listener
	role  raftlib.Role
	lead  lockstep.Node
	last  bool
	arena *raftlib.Arena
}

func (s *speaker) Start(source raftlib.Source) error {
	s.role, s.lead = raftlib.Follower, 0
	return s.Node.Start(source)
}

func (s *speaker) Ready(arena *raftlib.Arena) (*raftlib.Ready, bool) {
	rd, ok := s.Node.Ready(arena)
	if ok {
		s.last = rd.Last(s.role, s.lead)
		s.role, s.lead, s.arena = rd.Role, rd.Lead, arena
	}
	return rd, ok
}

func (s *speaker) Advance() {
	s.Node.Advance()
	if s.last {
		s.spoke++
		if _, more := s.Node.Ready(s.arena); more {
			s.another++
		}
	}
}
