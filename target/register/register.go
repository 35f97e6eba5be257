// Package register is a register in the style of etcd at the time of its first Jepsen test. It is the first example
// of "Why Is Random Testing Effective for Partition Tolerance Bugs?" (Majumdar, Niksic; POPL 2018, Section 2.1 and
// Fig. 1). Writes need a leader and a majority; reads do not, unless an option requires it.
//
// The protocol is Raft for a log of which only the last entry counts. A majority elects a leader for a term, and only
// with an entry at least as recent as the voters'. The leader proposes entries with consecutive numbers, each with
// the whole state. An entry that a majority has accepted is committed. A new leader first proposes its last entry
// again. A node forwards an operation to the leader that it knows, once: if that leader fails, the operation is not
// answered.
//
// Clients request "read", "write 0" and "write 1". One request of each kind waits for any node; when a node receives
// it, the next one of its kind waits.
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
	// Reads selects the node that answers a read, and the state that it reads.
	Reads ReadMode `help:"local: the asked node, from its replica; leader: the leader, from its replica; quorum: like writes"`
	// Requests is the number of requests for each of the three operations; 0 means 8.
	Requests int `help:"requests of clients for each operation; 0: 8" zero:"8" range:"1..1000"`
}

// ReadMode selects the node that answers a read.
type ReadMode uint8

// The read modes, in the order in which etcd had them. Only the last is linearizable.
const (
	Local  ReadMode = iota // the node that receives the request, from its own replica (Fig. 1, left)
	Leader                 // the leader known to that node, from its own replica (Fig. 1, right)
	Quorum                 // the leader, through a majority, like a write
)

var readModes = []string{"local", "leader", "quorum"}

// Words are the texts of the modes.
func (ReadMode) Words() []string { return readModes }

// String is the text of the mode.
func (r ReadMode) String() string { return option.Word(readModes, int(r)) }

// Op is a client's operation.
type Op struct {
	Write bool
	Value int32 // to write
}

// String is the operation as text.
func (o Op) String() string {
	if o.Write {
		return "write " + strconv.Itoa(int(o.Value))
	}
	return "read"
}

// operations are the clients' operations, by the texts of their requests.
var operations = map[string]Op{"read": {}, "write 0": {Write: true, Value: 0}, "write 1": {Write: true, Value: 1}}

// Operations are the texts of the requests.
func Operations() []string { return slices.Sorted(maps.Keys(operations)) }

// The roles of nodes.
const (
	RoleLeader    = "leader"
	RoleFollower  = "follower"
	RoleCandidate = "candidate"
)

// Describe describes the system and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	c = target.Fill(c)
	if err := target.Check("register", c); err != nil {
		return lockstep.Info{}, err
	}
	return c.cluster().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return c.cluster().Deploy(ctx, p)
}

func (c Cluster) cluster() sim.Cluster[message] {
	options := target.Changed(c, Cluster{}, "nodes", "reads")
	c = target.Fill(c)
	return sim.Cluster[message]{
		Name: "register", Options: options, Nodes: c.Nodes, Draws: "election time-outs",
		New: func(self lockstep.Node, n int) sim.Node[message] {
			p := &node{self: self, nodes: n, reads: c.Reads}
			return sim.With(p, sim.Capabilities[message]{Reset: p.Reset, State: p.String, Role: p.Role})
		},
		Type: func(m message) string { return typeNames[m.kind] }, Text: message.text,
		Types: typeNames[:], Events: []string{spec.EventCall, spec.EventReturn},
		Requests: Operations(), Repeat: c.Requests, Roles: []string{RoleLeader, RoleFollower, RoleCandidate},
	}
}

// Linearizability is the register's guarantee, which it satisfies with quorum reads.
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

// Target is the register with local reads.
var Target = target.Of("register",
	"a register on five nodes in the style of etcd's example: writes by majority, reads local", Cluster{Nodes: 5},
	Linearizability).WithSometimes("crash:leader", "cut:leader")
