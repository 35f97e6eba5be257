package nats

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a cluster of NATS servers with JetStream: a [lockstep.System]. Its zero value has three servers, a
// stream with three replicas, and two clients with six operations each, and the server's defaults.
type Cluster struct {
	// Nodes is the number of servers; 0 means 3.
	Nodes int `help:"number of servers, 1 to 7; 0: 3" zero:"3" range:"1..7"`
	// Replicas is the number of servers with a replica of the stream; 0 means 3, or the number of servers if that is
	// smaller.
	Replicas int `help:"servers with a replica of the stream, 1 to 5; 0: 3, or all servers if there are fewer" range:"0..5"`
	// SyncAlways is the server's setting sync_interval: always. Without it a server syncs files
	// every two minutes.
	SyncAlways bool `help:"servers sync files before they acknowledge (sync_interval: always), not every two minutes"`
	// Power is the share of crashes with a power failure.
	Power float64 `help:"share of crashes with a power failure, 0 to 1" range:"0..1"`
	// Sync is the maximum duration of a file sync; 0 means 10ms.
	Sync time.Duration `help:"maximum duration of a file sync; 0: 10ms" zero:"10ms" range:"0s.."`
	// Split is the share of writes on connections that travel in two parts.
	Split float64 `help:"share of writes on connections that travel in two parts, 0 to 1"`

	// Clients is the number of clients, each with one request at a time; 0 means 2.
	Clients int `help:"number of clients; 0: 2" zero:"2" range:"1..16"`
	// Requests is the number of operations of each client; 0 means 6.
	Requests int `help:"operations of each client; 0: 6" zero:"6" range:"1..1000"`
	// Keys is the number of keys that clients use; 0 means 2.
	Keys int `help:"number of keys, 1 to 8; 0: 2" zero:"2" range:"1..8"`
	// Mix is the mix of operations that clients draw from. The zero value is put:4,cas:2, without reads, which may be
	// stale.
	Mix kv.Mix `help:"weights of operations like put:2,cas:1,get:3,delete:1; mixed: put:4,cas:2; one server answers a read, which may be stale"`
	// Direct lets any server with a replica answer reads from its own state (allow_direct).
	Direct bool `help:"any server with a replica answers reads, which may be stale (allow_direct)"`
	// Purge makes a delete of a key remove all earlier messages of it, too.
	Purge bool `help:"a client that deletes a key purges it: the server removes all earlier messages of the key, too"`
	// Reads is the number of times that a consumer takes the next messages of the stream; 0 means 4.
	Reads int `help:"times that a consumer takes the next messages of the stream; 0: 4" zero:"4" range:"0..1000"`
	// StepDowns is the number of times that an operator asks the leader of the stream to step down.
	StepDowns int `help:"times that an operator asks the leader of the stream to step down" range:"0..1000"`
	// MetaStepDowns is the number of times that the meta leader, which places streams, steps down.
	MetaStepDowns int `help:"times that an operator asks a server to step down as the meta leader; any other server ignores it" range:"0..1000"`
	// Moves is the number of times that an operator moves a server's replica of the stream to another server.
	Moves int `help:"times that an operator moves a replica of the stream from a server; the server refuses if no other server can have it" range:"0..1000"`
	// Removals is the number of times that an operator removes a server from the cluster for good, and a new one
	// replaces it.
	Removals int `help:"times that an operator removes a server for good, and a new one replaces it; needs more servers than replicas" range:"0..1000"`
	// Purges is the number of times that an operator purges the messages of the stream that are older than the newest
	// of any key.
	Purges int `help:"times that an operator purges the messages older than the newest of any key" range:"0..1000"`
	// Erasures is the number of times that an operator deletes a single message, which is not the newest of its key.
	Erasures int `help:"times that an operator deletes a single message, which is not the newest of its key" range:"0..1000"`
	// UncheckedMoves makes operators move replicas without the check that the others are up to date.
	UncheckedMoves bool `help:"move replicas without the check that the others are up to date, one move after the other"`
	// Consume adds a subscriber at each server. All of them continuously take the messages of the stream through one
	// durable consumer.
	Consume bool `help:"a subscriber at each server continuously takes messages through a durable pull consumer, and acknowledges each"`
	// Mirror adds a mirror of the stream, with the same number of replicas.
	Mirror bool `help:"add a mirror of the stream, with as many replicas"`
	// Sources adds a stream with one source for each key of the stream, and the same number of replicas.
	Sources bool `help:"add a stream with each key of the stream as a separate source, and with as many replicas"`
	// Sockets makes clients use the network of the run, and connect to the next server first.
	Sockets bool `help:"clients connect to servers over the network, so that the engine controls their messages, too"`

	// FaultOptions has a MaxPause of 20s unless another one is set.
	bubble.FaultOptions
}

// filled is the cluster with its defaults, some of which depend on other options.
func (c Cluster) filled() Cluster {
	c = target.Fill(c)
	c.Replicas = cmp.Or(c.Replicas, min(3, c.Nodes))
	if c.Mix == (kv.Mix{}) {
		c.Mix = kv.Mix{Put: 4, Cas: 2}
	}
	return c
}

// check validates the options.
func (c Cluster) check() error {
	if err := target.Check("nats", c); err != nil {
		return err
	}
	if c.Mix.Append > 0 || c.Mix.Txn > 0 {
		return fmt.Errorf("nats: mix is %s, allowed are put, get, cas and delete", c.Mix)
	}
	if c.Replicas > c.Nodes || c.Removals > 0 && c.Replicas == c.Nodes {
		return fmt.Errorf(
			"nats: %d servers cannot have %d replicas with %d removals: a removal needs more servers than replicas",
			c.Nodes, c.Replicas, c.Removals)
	}
	return nil
}

// Describe describes the cluster and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	if err := c.filled().check(); err != nil {
		return lockstep.Info{}, err
	}
	return c.system().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return c.system().Deploy(ctx, p)
}

// system is the cluster in a bubble, for a warmed-up process.
func (c Cluster) system() bubble.Cluster {
	full := c.filled()
	b := full.bubble(c)
	b.Process.Warm = []*bubble.Warming{&warm}
	return b
}

// bubble is the cluster as package bubble defines it.
func (c Cluster) bubble(given Cluster) bubble.Cluster {
	return bubble.Cluster{
		Name: "nats", Build: Version(), Options: target.Changed(given, Cluster{}), Nodes: c.Nodes,
		Begin:   func(w *bubble.World) { w.Value = newClients(c, w) },
		Start:   func(n *bubble.Node) error { return start(n, c) },
		Network: bubble.Sockets{Decode: routes, Split: c.Split},
		Freeze: &bubble.Freeze{
			Grace: grace,
			Files: &bubble.Files{DiskLevel: disk.Ext4, PowerFailures: c.Power, SyncTime: c.Sync},
		},
		Faults: bubble.Faults{MaxPause: 20 * time.Second}, FaultOptions: c.FaultOptions,
		Process: bubble.Process{Serial: true, Seed: func(uint64) { resetProcess() }},
		Roles:   []string{leader, follower}, Timeout: time.Minute,
	}
}

// grace is the time in which the goroutines of a crashed server return resources that servers share, for example a
// semaphore for file operations.
const grace = 50 * time.Millisecond

// Version is the version of the server in this build. It comes from the directory of the source, because test
// programs lack module information.
func Version() string {
	at := reflect.ValueOf(server.NewServer).Pointer()
	file, _ := runtime.FuncForPC(at).FileLine(at)
	_, version, _ := strings.Cut(file, "v2@")
	version, _, _ = strings.Cut(version, "/")
	return cmp.Or(version, "unknown")
}
