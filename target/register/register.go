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
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Cluster is a deployment of the register: a [lockstep.System].
type Cluster struct {
	// Nodes is the number of nodes, 1 to 64.
	Nodes int `help:"number of nodes"`
	// Reads says who answers a read, and by what.
	Reads ReadMode `help:"local: the node asked, by its own copy; leader: the leader, by its own copy; quorum: as for writes"`
	// Requests is how often clients ask for each of the three operations; 0 means
	// DefaultRequests.
	Requests int `help:"how often clients ask for each operation; 0: 8"`
}

// DefaultRequests keeps histories short enough to be judged quickly.
const DefaultRequests = 8

// ReadMode says who answers a read.
type ReadMode uint8

// The read modes, in the order in which etcd had them. Only the last is linearizable.
const (
	Local  ReadMode = iota // the node asked, by its own copy (Fig. 1, left)
	Leader                 // the leader that the node asked knows, by its own copy (Fig. 1, right)
	Quorum                 // the leader, through a majority, like a write
)

var readModes = []string{"local", "leader", "quorum"}

// String is the mode's word.
func (m ReadMode) String() string {
	if int(m) < len(readModes) {
		return readModes[m]
	}
	return fmt.Sprintf("(%d)", uint8(m))
}

// UnmarshalText reads a mode's word.
func (m *ReadMode) UnmarshalText(text []byte) error {
	for i, name := range readModes {
		if name == string(text) {
			*m = ReadMode(i)
			return nil
		}
	}
	return fmt.Errorf("the read mode must be one of %s", strings.Join(readModes, ", "))
}

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

// operations are what clients ask for, in the order of their requests.
var operations = []Op{{}, {Write: true, Value: 0}, {Write: true, Value: 1}}

// Operations are the texts of the requests.
func Operations() []string {
	var texts []string
	for _, o := range operations {
		texts = append(texts, o.String())
	}
	return texts
}

// The roles of nodes.
const (
	RoleLeader    = "leader"
	RoleFollower  = "follower"
	RoleCandidate = "candidate"
)

// Describe says what the system is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	if c.Nodes < 1 || c.Nodes > trace.MaxNodes {
		return lockstep.Info{}, fmt.Errorf("register: nodes is %d, allowed are 1..%d", c.Nodes, trace.MaxNodes)
	}
	if int(c.Reads) >= len(readModes) {
		return lockstep.Info{}, fmt.Errorf("register: reads is %d, allowed are %s", c.Reads, strings.Join(readModes, ", "))
	}
	if c.Requests < 0 || c.Requests > 1000 {
		return lockstep.Info{}, fmt.Errorf("register: requests is %d, allowed are 0..1000", c.Requests)
	}
	return c.cluster().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(p *lockstep.Place) (lockstep.Deployment, error) { return c.cluster().Deploy(p) }

func (c Cluster) cluster() sim.Cluster[message] {
	options := map[string]string{"nodes": strconv.Itoa(c.Nodes), "reads": c.Reads.String()}
	if c.Requests != 0 {
		options["requests"] = strconv.Itoa(c.Requests)
	}
	return sim.Cluster[message]{
		Name: "register", Options: options, Nodes: c.Nodes, Draws: "election time-outs",
		New: func(self lockstep.Node, n int) sim.Node[message] {
			return &node{self: self, nodes: n, reads: c.Reads}
		},
		Type: func(m message) string { return typeNames[m.kind] }, Text: message.text,
		Types: typeNames[:], Events: []string{spec.EventCall, spec.EventReturn},
		Requests: Operations(), Repeat: cmp.Or(c.Requests, DefaultRequests), Roles: []string{RoleLeader, RoleFollower, RoleCandidate},
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
