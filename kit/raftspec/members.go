package raftspec

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// campaigns checks a node whose role changed.
func (m *monitor) campaigns(id lockstep.Node, n *node) {
	if n.role != BecameCandidate && n.role != BecamePreCandidate || n.conf.Members() == 0 {
		return
	}
	m.countCheck(VotersCampaign)
	if voters := n.conf.Voters | n.conf.Outgoing; !voters.Has(id) {
		m.fail(VotersCampaign, trace.NodesOf(id), "node %d campaigns in term %d, but the voters of the configuration that "+
			"it has applied are %s", id, n.term, n.conf)
	}
}

// byVoters checks that majorities of the voters have what a leader commits.
func (m *monitor) byVoters(id lockstep.Node, n *node, index uint64) {
	prefix, known := n.log.upTo(index)
	if !known || n.conf.Voters == 0 {
		return
	}
	m.countCheck(VotersCommit)
	for _, voters := range [2]lockstep.Nodes{n.conf.Voters, n.conf.Outgoing} {
		have := 0
		for v := range voters.All() {
			if int(v) < len(m.state.nodes) && m.state.nodes[v].log.has(index, prefix) {
				have++
			}
		}
		if voters != 0 && 2*have <= voters.Len() {
			m.fail(VotersCommit, trace.NodesOf(id), "leader %d commits index %d in term %d, which %d of %d voters have "+
				"(configuration %s)", id, index, n.term, have, voters.Len(), n.conf)
		}
	}
}

// has reports whether a log has a prefix. What is within a snapshot, or cannot be compared, counts.
func (l *log) has(index, prefix uint64) bool {
	if index > l.last() {
		return false
	}
	hash, known := l.upTo(index)
	return !known || hash == prefix
}
