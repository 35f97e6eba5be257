// Package register is a register in the style of etcd as it was when Jepsen first tested
// it, the first example of "Why Is Random Testing Effective for Partition Tolerance
// Bugs?" (Majumdar, Niksic; POPL 2018, Section 2.1 and Fig. 1): writes go through a
// leader and a majority, reads do not, unless they are told to.
//
// The protocol is Raft for a log of which only the last entry counts. A leader is elected
// for a term by a majority, and only with an entry at least as recent as the voters'. It
// proposes entries, each with the whole state, one number after the other; an entry that a
// majority has accepted is committed. A new leader first proposes what it has anew. A node
// passes an operation on to the leader it knows, once: an operation whose leader fails is
// not answered.
//
// Clients ask for "read", "write 0" and "write 1": each of the three waits to be given to
// any node, and when it is given, the next one of its kind waits.
package register

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of the register: a [lockstep.System].
type Cluster struct {
	// Nodes is the number of nodes, 1 to 64.
	Nodes int `help:"number of nodes" range:"1..64"`
	// Reads says who answers a read, and by what.
	Reads ReadMode `help:"local: the node asked, by its own copy; leader: the leader, by its own copy; quorum: as for writes"`
	// Requests is how often clients ask for each of the three operations; 0 means 8.
	Requests int `help:"how often clients ask for each operation; 0: 8" zero:"8" range:"1..1000"`
}

// ReadMode says who answers a read.
type ReadMode uint8

// The read modes, in the order in which etcd had them. Only the last is linearizable.
const (
	Local  ReadMode = iota // the node asked, by its own copy (Fig. 1, left)
	Leader                 // the leader that the node asked knows, by its own copy (Fig. 1, right)
	Quorum                 // the leader, through a majority, like a write
)

var readModes = []string{"local", "leader", "quorum"}

// Words are the words of the modes.
func (ReadMode) Words() []string { return readModes }

// String is the mode's word.
func (m ReadMode) String() string { return option.Word(readModes, int(m)) }

// Op is a client's operation.
type Op struct {
	Write bool
	Value int32 // to write
}

// String is the operation in words.
func (o Op) String() string {
	if o.Write {
		return "write " + strconv.Itoa(int(o.Value))
	}
	return "read"
}

// operations are what clients ask for, by the texts of their requests.
var operations = map[string]Op{"read": {}, "write 0": {Write: true, Value: 0}, "write 1": {Write: true, Value: 1}}

// Operations are the texts of the requests.
func Operations() []string { return slices.Sorted(maps.Keys(operations)) }

// The roles of nodes.
const (
	RoleLeader    = "leader"
	RoleFollower  = "follower"
	RoleCandidate = "candidate"
)

// Describe says what the system is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	c = target.Fill(c)
	if err := target.Check("register", c); err != nil {
		return lockstep.Info{}, err
	}
	return c.cluster().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Place) (lockstep.Deployment, error) {
	return c.cluster().Deploy(ctx, p)
}

func (c Cluster) cluster() sim.Cluster[message] {
	options := target.Changed(c, Cluster{}, "nodes", "reads")
	c = target.Fill(c)
	return sim.Cluster[message]{
		Name: "register", Options: options, Nodes: c.Nodes, Draws: "election time-outs",
		New: func(self lockstep.Node, n int) sim.Node[message] {
			return &node{self: self, nodes: n, reads: c.Reads}
		},
		Type: func(m message) string { return typeNames[m.kind] }, Text: message.text,
		Types: typeNames[:], Events: []string{spec.EventCall, spec.EventReturn},
		Requests: Operations(), Repeat: c.Requests, Roles: []string{RoleLeader, RoleFollower, RoleCandidate},
	}
}

// Linearizability is what the register promises, and keeps where reads are by quorum.
var Linearizability = spec.Linearizable{Model: porcupine.Model{
	Init: func() any { return int32(0) },
	Step: func(state, input, output any) (bool, any) {
		if o := input.(Op); o.Write {
			return true, o.Value
		}
		value, answered := output.(int32)
		return !answered || value == state.(int32), state
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v: %v", input, output) },
}}

// Target is the register with reads answered locally.
var Target = target.Of("register", "a register on five nodes in the style of etcd's example: writes by majority, reads local", Cluster{Nodes: 5}, Linearizability)
