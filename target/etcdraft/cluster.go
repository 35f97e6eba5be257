package etcdraft

import (
	"context"
	"fmt"
	"math"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// Cluster is a deployment of etcd's raft: a [lockstep.System]. Its zero value has three nodes and two clients with
// four operations each, and the library's defaults.
type Cluster struct {
	// Nodes is the number of nodes, 1 to 9; 0 means 3.
	Nodes int `help:"number of nodes, 1 to 9; 0: 3" zero:"3" range:"1..9"`
	// Voters is the number of nodes that vote at the start: the first ones. The others are no members until a
	// membership change adds them. 0 means all.
	Voters int `help:"nodes that vote at the start; the others are not members; 0: all"`
	// Election is Config.ElectionTick: a follower campaigns after Election to 2*Election-1 ticks without a message
	// from the leader. 0 means 3, which gives runs of a few hundred steps several elections.
	Election int `help:"election timeout in ticks; 0: 3" zero:"3" range:"2..1000"`
	// Heartbeat is Config.HeartbeatTick; 0 means 1.
	Heartbeat int `help:"ticks between heartbeats; 0: 1" zero:"1"`
	// PreVote and CheckQuorum are the library's options of that name.
	PreVote     bool `help:"ask whether an election could be won before starting it"`
	CheckQuorum bool `help:"a leader that does not hear from a quorum steps down"`
	// NoForward makes followers refuse proposals (Config.DisableProposalForwarding).
	NoForward bool `help:"followers refuse proposals instead of forwarding them"`
	// MaxInflight is Config.MaxInflightMsgs; 0 means 256.
	MaxInflight int `help:"maximum number of append messages in flight to one follower; 0: 256" zero:"256" range:"1..1048576"`
	// MaxSizePerMsg is Config.MaxSizePerMsg, the bytes of entries in one message. A message has at least one entry; 0
	// means no limit.
	MaxSizePerMsg int `help:"maximum bytes of entries in one message, with at least one entry; 0: no limit" range:"0..2147483647"`
	// Reads selects how nodes serve reads.
	Reads ReadMode `help:"index (ask a quorum), lease (trust the clock; needs check-quorum); unsafe on purpose: local, leader"`
	// Compact is the number of applied entries after which a node takes a snapshot and compacts its log; 0 means
	// never.
	Compact int `help:"applied entries after which a node takes a snapshot and compacts its log; 0: never" range:"0..1048576"`
	// Async enables asynchronous storage writes, if the version has them.
	Async bool `help:"asynchronous storage writes, in versions that support them"`
	// Atomic makes a crash keep or lose the writes of one Ready together. The library does not require it, but
	// without it a node may forget a membership change.
	Atomic bool `help:"a crash keeps all writes of one Ready or none; the library does not require it"`
	// HoldVotes applies to asynchronous writes: requests for votes wait until the term, the vote and the log that
	// they refer to are on disk. The library sends them at once, so a candidate that crashes can win an election of
	// its previous incarnation.
	HoldVotes bool `help:"with async: send requests for votes after the write of the state that they refer to; the library does not require it"`

	// Clients is the number of clients, each with one request at a time; 0 means 2, and None means no clients.
	Clients int `help:"number of clients; 0: 2, -1: none" zero:"2" range:"0..16"`
	// Requests is the number of operations of each client; 0 means 4.
	Requests int `help:"operations of each client; 0: 4" zero:"4" range:"1..1000"`
	// Keys is the number of keys that clients use; 0 means 2.
	Keys int `help:"number of keys; 0: 2" zero:"2" range:"1..8"`
	// Mix is the mix of operations that clients draw from.
	Mix kv.Mix `help:"mixed (put, get, cas, every value new), binary (read, write 0, write 1 alike) or weights like put:2,get:3,append:1,txn:1"`
	// Changes is the number of membership changes that an operator requests.
	Changes int `help:"membership changes that an operator requests" range:"0..1000"`
	// Asks are additional single changes of voters that the operator requests, as text separated by "; ", for example
	// "remove 4; add 4". A scenario decides when and where.
	Asks string `help:"single changes that the operator requests in addition, like 'remove 4; add 4'"`
	// Transfers is the number of leadership transfers that an operator requests.
	Transfers int `help:"leadership transfers that an operator requests" range:"0..1000"`

	// Delay is the maximum delay of a message in ticks of virtual time, drawn from the run's seed. Election must be
	// larger than a round trip: at least 3*Delay+2. 0 means that messages carry no time.
	Delay int `help:"maximum delay of a message, in ticks of virtual time; 0: none" range:"0..1000"`
	// Layers leaves messages without tags, so that lock-step strategies go by causal
	// layers instead of the rounds of a term.
	Layers bool `help:"lock-step strategies use causal layers in place of tags"`
	// Mutant is the mutant of the library that must be active. The program fills it in, so that a trace identifies
	// the mutant of its run; see package mutants.
	Mutant string `help:"mutant of the library that must be active; empty: any" trust:"harmless"`

	library raftlib.Library
}

// None as Cluster.Clients means no clients.
const None = -1

// ReadMode selects how nodes serve linearizable reads.
type ReadMode uint8

// The read modes.
const (
	// ReadIndex asks a quorum to confirm the leader.
	ReadIndex ReadMode = iota
	// Lease assumes that no other leader can be elected while the leader hears from a quorum regularly. That depends
	// on clocks. The library documents it as unsafe when clock drift is unbounded, and no strategy here bounds it.
	Lease
	// Local is wrong on purpose: the node answers from its own replica, as etcd did by default up to its second API.
	Local
	// Leader is wrong on purpose, too: the leader that the node knows answers from its own replica, whether or not it
	// still is the leader. The question and the answer travel instantly, unless the link between the two is cut or
	// the leader is down.
	Leader
)

var readModes = []string{"index", "lease", "local", "leader"}

// Words are the texts of the modes.
func (ReadMode) Words() []string { return readModes }

// String is the text of the mode.
func (r ReadMode) String() string { return option.Word(readModes, int(r)) }

// With is the cluster with another version of the library.
func (c Cluster) With(l raftlib.Library) Cluster {
	c.library = l
	return c
}

// filled is the cluster with its defaults, some of which depend on other options.
func (c Cluster) filled() Cluster {
	if c.library == nil {
		c.library = usual()
	}
	c = target.Fill(c)
	if c.Voters == 0 {
		c.Voters = c.Nodes
	}
	if c.Mutant == "" {
		c.Mutant = c.library.Mutant()
	}
	if c.Clients == None {
		c.Clients = 0
	}
	return c
}

// check validates a complete configuration.
func (c Cluster) check() error {
	if err := target.Check("etcdraft", c); err != nil {
		return err
	}
	for _, err := range []error{option.Within("voters", c.Voters, 1, c.Nodes),
		option.Within("heartbeat", c.Heartbeat, 1, c.Election-1)} {
		if err != nil {
			return fmt.Errorf("etcdraft: %w", err)
		}
	}
	if _, err := c.asks(); err != nil {
		return err
	}
	if c.Reads == Lease && !c.CheckQuorum {
		return fmt.Errorf("etcdraft: reads=lease needs check-quorum=true: the library requires it")
	}
	if need := 3*c.Delay + 2; c.Delay > 0 && c.Election < need {
		return fmt.Errorf(
			"etcdraft: messages take up to %d ticks, so no election may succeed with election=%d; it must be at least %d",
			c.Delay,
			c.Election,
			need,
		)
	}
	if c.HoldVotes && !c.Async {
		return fmt.Errorf("etcdraft: hold-votes=true needs async=true: it delays votes of asynchronous storage writes")
	}
	if c.Async && !c.library.Async() {
		return fmt.Errorf("etcdraft: %s has no asynchronous storage writes", c.library.Name())
	}
	if c.library.Mutant() != c.Mutant {
		return fmt.Errorf("etcdraft: %w", target.CheckMutant(c.Mutant))
	}
	return c.library.Check()
}

// Describe describes the system and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	c = c.filled()
	if err := c.check(); err != nil {
		return lockstep.Info{}, err
	}
	return lockstep.Info{
		Name:     c.library.Name(),
		Nodes:    c.Nodes,
		Options:  c.options(),
		Rounds:   c.rounds(),
		Roles:    c.roles(),
		Types:    messageTypes(),
		Events:   eventTypes,
		Requests: c.requests(),
		Draws:    "operations, changes, delays and time-outs",
		Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Timer, trace.Crash,
			trace.Restart, trace.Request, trace.Cut, trace.Heal),
	}, nil
}

// options lists the options of the cluster that differ from the defaults.
func (c Cluster) options() map[string]string {
	if c.Clients == 0 {
		c.Clients = None
	}
	return target.Changed(c, Cluster{Voters: c.Nodes, MaxInflight: 256}, "reads")
}

func (c Cluster) config() raftlib.Config {
	r := raftlib.Config{Election: c.Election, Heartbeat: c.Heartbeat, PreVote: c.PreVote, CheckQuorum: c.CheckQuorum,
		Lease: c.Reads == Lease, MaxInflight: c.MaxInflight, MaxSize: uint64(c.MaxSizePerMsg), NoForward: c.NoForward,
		Async: c.Async, HoldVotes: c.HoldVotes}
	if r.MaxSize == 0 {
		r.MaxSize = math.MaxUint64
	}
	return r
}

// Deploy makes a deployment.
func (c Cluster) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	c = c.filled()
	if err := c.check(); err != nil {
		return nil, err
	}
	return newDeployment(c), nil
}
