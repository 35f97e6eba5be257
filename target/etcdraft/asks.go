package etcdraft

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// asks reads the changes that the operator asks for by name.
func (c Cluster) asks() ([]raftlib.ConfChange, error) {
	if c.Asks == "" {
		return nil, nil
	}
	var list []raftlib.ConfChange
	for _, text := range strings.Split(c.Asks, "; ") {
		verb, rest, _ := strings.Cut(text, " ")
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > c.Nodes || verb != "add" && verb != "remove" {
			return nil, fmt.Errorf("etcdraft: asks has %q, allowed are 'add N' and 'remove N' with a node of 1..%d, separated by '; '", text, c.Nodes)
		}
		change := raftlib.ConfChange{V1: true}
		who := lockstep.Nodes(0).With(lockstep.Node(n))
		if verb == "add" {
			change.Add = who
		} else {
			change.Remove = who
		}
		list = append(list, change)
	}
	return list, nil
}

// requests are the words of all requests of a run, where they are known: those of clients and
// the changes that an operator thinks up are drawn.
func (c Cluster) requests() []string {
	if c.Clients > 0 || c.Changes > 0 || c.Transfers > 0 {
		return nil
	}
	asks, _ := c.asks() // checked before
	texts := []string{}
	for _, a := range asks {
		texts = append(texts, a.String())
	}
	return texts
}

// offerAsks offers each of them once, under its own words.
func (d *Deployment) offerAsks() {
	for i, c := range d.asks {
		d.offerAdmin(3*admin+i+1, c.String())
	}
}

// askFor carries one of them out at a node.
func (d *Deployment) askFor(i int, n *node) {
	c := d.asks[i]
	d.out.Event(lockstep.Event{Type: EventMembers, Node: n.id, Value: &Asked{Change: c}})
	_ = n.raft.ProposeChange(c) // refused or lost, as in ask
}

// eventTypes are the types of the events of a cluster.
var eventTypes = []string{BecameFollower, BecameCandidate, BecameLeader, BecamePreCandidate, EventAppend, EventCommit,
	EventApply, EventInstall, EventCrash, EventRestart, EventMembers, spec.EventCall, spec.EventReturn}

// messageTypes are the types of the messages of a cluster.
func messageTypes() []string {
	var names []string
	for t := range travels {
		if travels[t] != (travel{}) || raftlib.Type(t) == raftlib.MsgVote || slices.Contains(toLeader[:], raftlib.Type(t)) {
			names = append(names, raftlib.Type(t).String())
		}
	}
	return names
}
