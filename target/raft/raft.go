// Package raft is a small Raft (Ongaro and Ousterhout, USENIX ATC 2014) with changes of one member at a time, as
// Ongaro's dissertation first published them. A node uses the newest configuration in its log, committed or not. A
// leader starts a change only when the previous one is committed.
//
// That is not enough. Two leaders of different terms may each remove a member, commit under different configurations,
// and so disagree (Ongaro on raft-dev, July 2015). The remedy published there is the default here: a new leader
// appends a no-op entry, and changes no members before an entry of its own term is committed. [Cluster.EarlyChanges]
// disables the remedy.
//
// Each timeout is a tick. The durable state, which is term, vote and log, survives a crash. A node reports its role,
// its log and the entries that it applies by the events of package raftspec, which has the protocol's guarantees.
package raft

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of the protocol: a [lockstep.System].
type Cluster struct {
	// Nodes is the number of nodes, all of them members at the start; 0 means 3.
	Nodes int `help:"number of nodes; 0: 3" zero:"3" range:"1..64"`
	// Requests is the number of commands that clients send.
	Requests int `help:"number of commands that clients send" range:"0..26"`
	// Changes are the membership changes that an operator requests, separated by "; ", for example "remove 4; remove
	// 3; add 4".
	Changes string `help:"membership changes that an operator requests, like 'remove 4; add 4'"`
	// Election is the election timeout in ticks: a follower campaigns after Election to 2*Election-1 ticks; 0 means
	// 10.
	Election int `help:"election timeout in ticks; 0: 10" zero:"10" range:"2..1000"`
	// EarlyChanges is a bug: members change before an entry of the leader's term is committed.
	EarlyChanges bool `help:"with the bug of single-server membership changes as first published"`
}

// The types of message.
const (
	Vote       = "Vote"
	VoteResp   = "VoteResp"
	Append     = "Append"
	AppendResp = "AppendResp"
)

// Entry is an entry of a log.
type Entry struct {
	Index, Term int
	// Text is the command, the membership change, or empty for a no-op entry.
	Text string
	// Members is the configuration from this entry on, if it changes members, or 0.
	Members lockstep.Nodes
}

// String is the entry as text.
func (e *Entry) String() string {
	return fmt.Sprintf("%d/%d %s", e.Term, e.Index, cmp.Or(e.Text, "nothing"))
}

// Message is a message of any type. It is immutable once it is sent.
type Message struct {
	Kind  string
	Term  int
	Index int // Vote: of the last entry; Append: of the previous entry; AppendResp: of the last match
	Prior int // Vote, Append: the term of that entry
	OK    bool
	Log   []Entry // Append
	Upto  int     // Append: the commit index
}

// String is the message's content as text.
func (m Message) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "term=%d", m.Term)
	switch m.Kind {
	case Vote, Append:
		fmt.Fprintf(&b, " log=%d/%d", m.Prior, m.Index)
	case AppendResp:
		fmt.Fprintf(&b, " index=%d", m.Index)
	}
	if m.Kind == VoteResp || m.Kind == AppendResp {
		fmt.Fprintf(&b, " ok=%t", m.OK)
	}
	for i := range m.Log {
		fmt.Fprintf(&b, " [%s]", &m.Log[i])
	}
	if m.Kind == Append {
		fmt.Fprintf(&b, " commit=%d", m.Upto)
	}
	return b.String()
}

// Describe describes the system and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	c = target.Fill(c)
	if err := target.Check("raft", c); err != nil {
		return lockstep.Info{}, err
	}
	if _, err := operator.Changes(c.Changes, c.Nodes); err != nil {
		return lockstep.Info{}, fmt.Errorf("raft: changes %w", err)
	}
	return c.cluster().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return target.Fill(c).cluster().Deploy(ctx, p)
}

func (c Cluster) cluster() sim.Cluster[Message] {
	var requests []string
	changes, _ := operator.Changes(c.Changes, c.Nodes) // checked before
	for _, change := range changes {
		requests = append(requests, change.String())
	}
	for i := range c.Requests {
		requests = append(requests, string(rune('a'+i)))
	}
	return sim.Cluster[Message]{
		Name: "raft", Options: target.Changed(c, Cluster{}), Nodes: c.Nodes, Requests: requests,
		Draws: "election time-outs",
		New: func(self lockstep.Node, _ int) sim.Node[Message] {
			p := &node{self: self, cluster: c}
			return sim.With(p, sim.Capabilities[Message]{Reset: p.Reset, State: p.String})
		},
		Type:  func(m Message) string { return m.Kind },
		Types: []string{Vote, VoteResp, Append, AppendResp},
		Events: []string{raftspec.BecameFollower, raftspec.BecameCandidate, raftspec.BecameLeader, raftspec.EventAppend,
			raftspec.EventCommit, raftspec.EventApply, raftspec.EventRestart},
		Text: Message.String,
	}
}
