//go:build v1.3

package hashicorpraft

import (
	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep/bubble"
)

// This version of the library has no pre-votes.
func configurePreVote(*raft.Config, bool)                            {}
func (r *replica) watchPreVote(*bubble.Node, any) func(response any) { return nil }

func (t *text) preVote(any) {}
