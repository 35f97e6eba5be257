package raft

import (
	"cmp"

	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/sim"
)

// become takes a role, and reports it if the role or the term is new.
func (n *node) become(c *sim.Context[Message], r role) {
	if r != n.role || n.term != n.reported {
		n.role, n.reported = r, n.term
		c.Emit(roleNames[r], &raftspec.Role{Term: uint64(n.term)})
	}
}

// found reports the disk of a restarting node. The node is then a follower of that term.
func (n *node) found(c *sim.Context[Message]) {
	if n.reported = n.term; n.term == 0 {
		return
	}
	c.Emit(
		raftspec.EventRestart,
		&raftspec.Restarted{Last: uint64(len(n.log)), Entries: entries(n.log), Term: uint64(n.term),
			Conf: raftspec.Conf{Voters: n.members()}},
	)
}

// write writes entries into the log, and replaces everything from the first one's index on.
func (n *node) write(c *sim.Context[Message], list []Entry) {
	last, at := len(n.log), list[0].Index-1
	n.log = append(n.log[:at:at], list...)
	c.Emit(raftspec.EventAppend,
		&raftspec.Appended{Entries: entries(list), Last: uint64(last), Leader: n.role == leader, Words: words})
}

// commitTo applies the committed entries up to an index.
func (n *node) commitTo(c *sim.Context[Message], index int) {
	if index <= n.commit {
		return
	}
	c.Emit(raftspec.EventCommit, &raftspec.Committed{Term: uint64(n.term), Index: uint64(index)})
	for _, e := range n.log[n.commit:index] {
		c.Emit(raftspec.EventApply,
			&raftspec.Applied{Entry: e.toSpec(), Conf: raftspec.Conf{Voters: e.Members}, Words: words})
	}
	n.commit = index
}

// toSpec converts an entry to the type of events.
func (e *Entry) toSpec() raftspec.Entry {
	return raftspec.Entry{Index: uint64(e.Index), Term: uint64(e.Term), Data: []byte(e.Text)}
}

func entries(list []Entry) []raftspec.Entry {
	all := make([]raftspec.Entry, len(list))
	for i := range list {
		all[i] = list[i].toSpec()
	}
	return all
}

func words(e raftspec.Entry) string { return cmp.Or(string(e.Data), "nothing") }
