// Package raft is a small Raft (Ongaro and Ousterhout, USENIX ATC 2014) with changes of
// one member at a time, as Ongaro's dissertation first published them: a node uses the
// newest configuration in its log, committed or not, and a leader starts a change only
// when the one before is committed.
//
// That is not enough: two leaders of different terms may each remove a member, each
// commit under a configuration of its own, and so disagree (Ongaro on raft-dev, July
// 2015). The remedy published there is the default here: a new leader appends an entry
// that does nothing and changes no members before an entry of its own term is committed.
// [Cluster.Hasty] takes it out.
//
// An alarm is a tick. What a node must not forget, term, vote and log, survives a crash.
package raft

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/trace"
)

// Cluster is a deployment of the protocol: a [lockstep.System].
type Cluster struct {
	// Nodes is the number of nodes, all of them members at the start; 0 means 3.
	Nodes int `help:"number of nodes; 0: 3"`
	// Requests is the number of commands that clients send.
	Requests int `help:"number of commands that clients send"`
	// Changes are the changes of members that an operator asks for, separated by "; ", for
	// example "remove 4; remove 3; add 4".
	Changes string `help:"changes of members that an operator asks for, like 'remove 4; add 4'"`
	// Election is the election time-out in ticks: a follower campaigns after Election to
	// 2*Election-1 ticks; 0 means 10.
	Election int `help:"election time-out in ticks; 0: 10"`
	// Hasty is a bug: members change before an entry of the leader's term is committed.
	Hasty bool `help:"with the bug of single-server membership changes as first published"`
}

// The types of message.
const (
	Vote       = "Vote"
	VoteResp   = "VoteResp"
	Append     = "Append"
	AppendResp = "AppendResp"
)

// The types of event.
const (
	// BecameLeader is the event of a node that wins an election; its value is the term, an
	// int.
	BecameLeader = "leader"
	// Committed is the event of a node that learns that an entry of its log is committed;
	// its value is an *Entry.
	Committed = "committed"
)

// Entry is an entry of a log.
type Entry struct {
	Index, Term int
	// Text is the command, the change of members, or empty for an entry that does nothing.
	Text string
	// Members is the configuration from this entry on, where it changes members, or 0.
	Members lockstep.Nodes
}

// String is the entry in words.
func (e *Entry) String() string {
	text := e.Text
	if text == "" {
		text = "nothing"
	}
	return fmt.Sprintf("%d/%d %s", e.Term, e.Index, text)
}

// Message is a message of any type. It is never changed once it is sent.
type Message struct {
	Kind  string
	Term  int
	Index int // Vote: of the last entry; Append: of the entry before; AppendResp: of the last that is equal
	Prior int // Vote, Append: the term of that entry
	OK    bool
	Log   []Entry // Append
	Upto  int     // Append: what is committed
}

// String is the message's content in words.
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

// Describe says what the system is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	c = c.complete()
	for _, f := range []struct {
		name      string
		v, lo, hi int
	}{{"nodes", c.Nodes, 1, trace.MaxNodes}, {"requests", c.Requests, 0, 26}, {"election", c.Election, 2, 1000}} {
		if f.v < f.lo || f.v > f.hi {
			return lockstep.Info{}, fmt.Errorf("raft: %s is %d, allowed are %d..%d", f.name, f.v, f.lo, f.hi)
		}
	}
	for _, text := range c.changes() {
		if _, _, ok := change(text, c.Nodes); !ok {
			return lockstep.Info{}, fmt.Errorf("raft: the change %q is not like 'add 4' or 'remove 4' with a node of 1..%d", text, c.Nodes)
		}
	}
	return c.cluster().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(p *lockstep.Place) (lockstep.Deployment, error) {
	return c.complete().cluster().Deploy(p)
}

func (c Cluster) complete() Cluster {
	if c.Nodes == 0 {
		c.Nodes = 3
	}
	if c.Election == 0 {
		c.Election = 10
	}
	return c
}

func (c Cluster) changes() []string {
	if c.Changes == "" {
		return nil
	}
	return strings.Split(c.Changes, "; ")
}

// change reads a change of members.
func change(text string, nodes int) (n lockstep.Node, add, ok bool) {
	verb, rest, _ := strings.Cut(text, " ")
	number, err := strconv.Atoi(rest)
	if err != nil || number < 1 || number > nodes || verb != "add" && verb != "remove" {
		return 0, false, false
	}
	return lockstep.Node(number), verb == "add", true
}

func (c Cluster) cluster() sim.Cluster[Message] {
	options := map[string]string{"nodes": strconv.Itoa(c.Nodes), "election": strconv.Itoa(c.Election)}
	if c.Requests > 0 {
		options["requests"] = strconv.Itoa(c.Requests)
	}
	if c.Changes != "" {
		options["changes"] = c.Changes
	}
	if c.Hasty {
		options["hasty"] = "true"
	}
	requests := c.changes()
	for i := range c.Requests {
		requests = append(requests, string(rune('a'+i)))
	}
	return sim.Cluster[Message]{
		Name: "raft", Options: options, Nodes: c.Nodes, Requests: requests, Draws: "election time-outs",
		New:    func(self lockstep.Node, _ int) sim.Node[Message] { return &node{self: self, cluster: c} },
		Type:   func(m Message) string { return m.Kind },
		Types:  []string{Vote, VoteResp, Append, AppendResp},
		Events: []string{BecameLeader, Committed},
		Text:   Message.String,
	}
}
