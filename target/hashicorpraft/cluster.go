package hashicorpraft

import (
	"cmp"
	"context"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/wire"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of hashicorp/raft: a [lockstep.System]. Its zero value has three nodes and two clients with
// four operations each, and the library's defaults.
type Cluster struct {
	// Nodes is the number of nodes, all of them voters; 0 means 3.
	Nodes int `help:"number of nodes, 1 to 9; 0: 3" zero:"3" range:"1..9"`
	// NoPreVote is the library's PreVoteDisabled.
	NoPreVote bool `help:"elections without a pre-vote"`
	// TCP makes the nodes use the library's own TCP transport, on sockets in memory. Then a message is the data of
	// one Write. It needs a program built with the overlay ("lockstep go").
	TCP bool `help:"the library's own TCP transport; needs lockstep go"`
	// Timeout is the timeout of a call; 0 means a second.
	Timeout time.Duration `help:"timeout of a call; 0: 1s" zero:"1s" range:"1ms.."`
	// InFlight is the number of concurrent AppendEntries of a pipeline, at least 2. 1 disables pipelines; 0 means 2,
	// as in the library.
	InFlight int `help:"maximum number of appends of a pipeline in flight; 1: no pipelines; 0: 2" zero:"2" range:"1..1000"`
	// Compact is the number of entries after which a node takes a snapshot; 0 means never.
	Compact int `help:"entries after which a node takes a snapshot; 0: never" range:"0..1073741824"`
	// Batch is the library's BatchApplyCh.
	Batch bool `help:"batch requests of clients"`
	// Slow is the share of writes to disk that take time, up to Disk.
	Slow float64       `help:"share of writes that take time, 0 to 1" range:"0..1"`
	Disk time.Duration `help:"maximum duration of such a write; 0: 50ms" zero:"50ms" range:"0s.."`

	// Clients is the number of clients, each with one request at a time; 0 means 2, and None means no clients.
	Clients int `help:"number of clients; 0: 2, -1: none" zero:"2" range:"0..16"`
	// Requests is the number of operations of each client; 0 means 4.
	Requests int `help:"operations of each client; 0: 4" zero:"4" range:"1..1000"`
	// Keys is the number of keys that clients use; 0 means 2.
	Keys int `help:"number of keys, 1 to 8; 0: 2" zero:"2" range:"1..8"`
	// Mix is the mix of operations that clients draw from.
	Mix kv.Mix `help:"mixed (put, get, cas, every value new), binary (read, write 0, write 1 alike) or weights like put:2,get:3,append:1,txn:1"`
	// Reads selects how nodes serve reads.
	Reads ReadMode `help:"verify (VerifyLeader, after one Barrier in the term), barrier; unsafe on purpose: local"`
	// Changes, Removals, Transfers and Snapshots are the numbers of an operator's requests. It demotes and promotes
	// voters, removes servers and adds them again, first as non-voters, transfers leadership, and takes snapshots.
	Changes   int `help:"demotions and promotions of voters that an operator requests" range:"0..999"`
	Removals  int `help:"removals of servers, and their return as non-voters, that an operator requests" range:"0..999"`
	Transfers int `help:"leadership transfers that an operator requests" range:"0..999"`
	Snapshots int `help:"snapshots that an operator requests" range:"0..999"`
	// Mutant is the mutant of the library that must be active. The program fills it in, so that a trace identifies
	// the mutant of its run; see package mutants.
	Mutant string `help:"mutant of the library that must be active; empty: any" trust:"harmless"`

	bubble.FaultOptions
}

// None as Cluster.Clients means no clients.
const None = -1

// ReadMode selects how nodes serve reads.
type ReadMode uint8

// The read modes.
const (
	// Verify asks a quorum to confirm the leader, after one Barrier per term has brought the leader's map up to date.
	Verify ReadMode = iota
	// Barrier writes an entry for every read.
	Barrier
	// Local is wrong on purpose: the node answers from its own replica.
	Local
)

var readModes = []string{"verify", "barrier", "local"}

// Words are the texts of the modes.
func (ReadMode) Words() []string { return readModes }

// String is the text of the mode.
func (r ReadMode) String() string { return option.Word(readModes, int(r)) }

// filled is the cluster with its defaults, and without the values that stand for none.
func (c Cluster) filled() Cluster {
	c = target.Fill(c)
	c.Clients = max(c.Clients, 0)
	c.Mutant = cmp.Or(c.Mutant, target.Mutant())
	return c
}

// load is the workload of the clients.
func (c Cluster) load() kv.Load {
	return kv.Load{Clients: c.Clients, Requests: c.Requests, Keys: c.Keys, Mix: c.Mix}
}

// check validates the options.
func (c Cluster) check() error {
	if err := target.Check("hashicorpraft", c); err != nil {
		return err
	}
	if err := target.CheckMutant(c.Mutant); err != nil {
		return fmt.Errorf("hashicorpraft: %w", err)
	}
	return nil
}

// Describe describes the cluster and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	full := c.filled()
	if err := full.check(); err != nil {
		return lockstep.Info{}, err
	}
	c.Mutant = full.Mutant
	return full.bubble(c).Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	seedable()
	return c.filled().bubble(c).Deploy(ctx, p)
}

// bubble is the cluster as package bubble defines it.
func (c Cluster) bubble(given Cluster) bubble.Cluster {
	template := c.bootstrapped()
	cluster := bubble.Cluster{
		Name: "hashicorpraft", Build: Version(), Options: given.options(), Nodes: c.Nodes,
		Begin: func(w *bubble.World) { w.Value = newClients(c, w) },
		Start: func(n *bubble.Node) error { return start(n, c, template) },
		Roles: []string{raftspec.BecameLeader, raftspec.BecameFollower, raftspec.BecameCandidate},
		Disk:  bubble.DiskModel{Slow: c.Slow, Longest: c.Disk}, FaultOptions: c.FaultOptions,
		AllowLeft: func(stack string) bool { // after a shutdown the library may not answer an Apply: hashicorp/raft#498
			return strings.Contains(stack, "raft.(*deferError).Error") && strings.Contains(stack, "(*replica).do\n")
		},
		Network: bubble.Messages{Types: messageTypes, Text: func(body any) string { return body.(*packet).String() }},
		// The library draws timeouts from the global source of math/rand.
		Process: bubble.Process{
			Serial: true,
			Seed:   func(seed uint64) { rand.Seed(int64(seed)) }, //nolint:staticcheck // the library draws from it
		},
	}
	if c.TCP {
		cluster.Network = bubble.Sockets{Decode: wire.Each(decode)}
	}
	return cluster
}

// decode names the content of one Write of the library's TCP transport. Requests begin with the number of their type.
// Responses begin with an error, which is usually empty.
func decode(data []byte) (kind, text string) {
	requests := []string{"AppendEntries", "RequestVote", "InstallSnapshot", "TimeoutNow", "RequestPreVote"}
	switch first := int(data[0]); {
	case first < len(requests):
		return requests[first], ""
	case first&0xe0 == 0xa0: // a short string
		return "Response", ""
	}
	return "", ""
}

// options lists the options of the cluster that differ from the defaults.
func (c Cluster) options() map[string]string {
	return target.Changed(c, Cluster{}, "reads")
}

// seedable makes math/rand obey Seed, which it ignores since Go 1.24.
func seedable() {
	const setting = "randseednop=0"
	if now := os.Getenv("GODEBUG"); !strings.Contains(now, setting) {
		_ = os.Setenv("GODEBUG", strings.TrimPrefix(now+","+setting, ","))
	}
}

// Version is the version of the library in this build. It comes from the directory of the source, because test
// programs lack module information.
func Version() string {
	at := reflect.ValueOf(raft.NewRaft).Pointer()
	file, _ := runtime.FuncForPC(at).FileLine(at)
	_, version, _ := strings.Cut(file, "raft@")
	version, _, _ = strings.Cut(version, "/")
	return version
}

// config is the library's configuration for a node.
func (c Cluster) config(n *bubble.Node) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = id(n.Self())
	conf.Logger = logOf(n)
	conf.BatchApplyCh = c.Batch
	conf.ShutdownOnRemove = false
	configurePreVote(conf, !c.NoPreVote)
	conf.SnapshotThreshold = 1 << 40
	if c.Compact > 0 {
		conf.SnapshotThreshold, conf.TrailingLogs, conf.SnapshotInterval = uint64(c.Compact), 1, time.Second
	}
	return conf
}

// id is the name of a node.
func id(n lockstep.Node) raft.ServerID { return raft.ServerID(address(n)) }

// names are the addresses of nodes for Lockstep's transport.
var names = func() (list [10]struct {
	address raft.ServerAddress
	bytes   []byte
}) {
	for i := range list {
		list[i].bytes = fmt.Appendf(nil, "n%d", i)
		list[i].address = raft.ServerAddress(list[i].bytes)
	}
	return list
}()

// address is a node's address for Lockstep's transport, which equals its ID.
func address(n lockstep.Node) raft.ServerAddress { return names[n].address }

// at is the address of a node for the transport in use.
func (c Cluster) at(n lockstep.Node) raft.ServerAddress {
	if c.TCP {
		return raft.ServerAddress(fmt.Sprintf("10.0.0.%d:8300", n))
	}
	return address(n)
}

// nodeOf is the node of an address.
func nodeOf(a raft.ServerAddress) lockstep.Node { return lockstep.Node(a[1] - '0') }
