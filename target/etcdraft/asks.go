package etcdraft

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// asks parses the changes that the operator requests explicitly.
func (c Cluster) asks() ([]raftlib.ConfChange, error) {
	changes, err := operator.Changes(c.Asks, c.Nodes)
	if err != nil {
		return nil, fmt.Errorf("etcdraft: asks %w", err)
	}
	var list []raftlib.ConfChange
	for _, change := range changes {
		node := trace.NodesOf(change.Node)
		if change.Add {
			list = append(list, raftlib.ConfChange{V1: true, Add: node})
		} else {
			list = append(list, raftlib.ConfChange{V1: true, Remove: node})
		}
	}
	return list, nil
}

// askTexts are those changes as text.
func (c Cluster) askTexts() []string {
	asks, _ := c.asks() // checked before
	texts := []string{}
	for _, a := range asks {
		texts = append(texts, a.String())
	}
	return texts
}

// requests are the texts of all requests of a run that are known in advance. The requests of clients and the
// operator's own changes are drawn.
func (c Cluster) requests() []string {
	if c.Clients > 0 || c.Changes > 0 || c.Transfers > 0 {
		return nil
	}
	return c.askTexts()
}

// messageTypes are the types of the messages of a cluster.
func messageTypes() []string {
	var names []string
	for t := range travels {
		if travels[t] != (travel{}) || raftlib.Type(t) == raftlib.MsgVote ||
			slices.Contains(toLeader[:], raftlib.Type(t)) {
			names = append(names, raftlib.Type(t).String())
		}
	}
	return names
}
