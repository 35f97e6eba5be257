// Package backup is a replicated map on a primary, node 1, and its backups. It is the smallest target with clients,
// crashes and disks, and the example of the page "Add a target".
package backup

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/storage"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of the map: a [lockstep.System].
type Cluster struct {
	Nodes    int `help:"number of nodes; 0: 3" zero:"3" range:"2..9"`
	Clients  int `help:"number of clients; 0: 2" zero:"2" range:"1..16"`
	Requests int `help:"operations of each client; 0: 4" zero:"4" range:"1..1000"`
	Keys     int `help:"number of keys; 0: 2" zero:"2" range:"1..8"`
	// EarlyAnswers is a bug: the primary answers before its disk and its backups have the operation.
	EarlyAnswers bool `help:"with the bug that the primary answers too early"`
}

// Targets are the map with and without its bug.
var Targets = []target.Target{
	target.Of("backup", "a map on a primary and its backups, correct", Cluster{}, kv.Linearizable),
	target.Of("backup-bug", "backup with a bug: the primary answers too early", Cluster{EarlyAnswers: true},
		kv.Linearizable),
}

// Describe describes the system and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	c = target.Fill(c)
	if err := target.Check("backup", c); err != nil {
		return lockstep.Info{}, err
	}
	return c.cluster().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	c = target.Fill(c)
	return c.cluster().Deploy(ctx, p)
}

func (c Cluster) cluster() sim.Cluster[message] {
	load := kv.Load{Clients: c.Clients, Requests: c.Requests, Keys: c.Keys}
	return sim.Cluster[message]{
		Name:    "backup",
		Options: target.Changed(c, Cluster{}),
		Nodes:   c.Nodes,
		Draws:   "operations and what crashes leave",
		New: func(self lockstep.Node, _ int) sim.Node[message] {
			p := &node{self: self, cluster: c}
			return sim.With(p, sim.Capabilities[message]{State: p.String})
		},
		Type:  func(m message) string { return m.kind },
		Types: []string{"Ask", "Copy", "Have"},
		Begin: func(out *lockstep.Outbox, draws *lockstep.Source) any {
			clients := kv.NewClients(load, c.Nodes)
			clients.Begin(draws, out)
			return clients
		},
	}
}

// message is an operation for the primary (Ask), the primary's log from an index on (Copy), or the length of a
// backup's log (Have).
type message struct {
	kind string
	op   kv.Op
	from uint64
	log  []kv.Op
}

// String is the content of the message.
func (m message) String() string {
	switch m.kind {
	case "Ask":
		return m.op.String()
	case "Copy":
		return fmt.Sprintf("%d operations from %d", len(m.log), m.from)
	}
	return fmt.Sprintf("up to %d", m.from)
}

// durable is a node's disk.
type durable struct {
	storage.Disk
	log *storage.Log[kv.Op]
}

// node is the program of a node. The map is the result of the first operations of the log.
type node struct {
	self    lockstep.Node
	cluster Cluster
	*durable
	kv.Map
	applied uint64
	have    []uint64 // by backup: the length of its log that the primary knows of
}

// Start loads the state from the disk. A primary does not know the state of its backups.
func (n *node) Start(c *sim.Context[message]) {
	if n.durable = sim.Durable[durable](c); n.log == nil {
		n.log = storage.NewLog[kv.Op](&n.Disk)
	}
	n.Map.Reset(n.cluster.Keys, n.cluster.Clients)
	n.applied, n.have = 0, make([]uint64, n.cluster.Nodes+1)
	if n.self == 1 {
		c.SetTimeout(10)
	}
}

// Timeout lets the primary resend the operations that its backups may lack.
func (n *node) Timeout(c *sim.Context[message]) {
	n.Sync()
	n.copyTo(c)
	c.SetTimeout(10)
}

// Request forwards a client's operation to the primary. The client may try another node meanwhile.
func (n *node) Request(c *sim.Context[message], id int32, _ string) {
	clients := c.Shared().(*kv.Clients)
	op, _ := clients.Given(id)
	clients.Offer(op)
	if n.self == 1 {
		n.add(c, *op)
	} else {
		c.Send(1, message{kind: "Ask", op: *op})
	}
}

// Receive handles a message.
func (n *node) Receive(c *sim.Context[message], from lockstep.Node, m message) {
	switch m.kind {
	case "Ask":
		n.add(c, m.op)
	case "Copy":
		if known := int(n.log.Last() + 1 - m.from); known >= 0 && known < len(m.log) { // there is no gap
			n.log.Append(m.log[known:]...)
			n.Sync()
		}
		c.Send(from, message{kind: "Have", from: n.log.Last()})
	case "Have":
		n.have[from] = max(n.have[from], m.from)
		n.answer(c)
	}
}

// add adds an operation to the primary's log, unless it is already there.
func (n *node) add(c *sim.Context[message], op kv.Op) {
	if slices.Contains(n.log.Entries(1, n.log.Last()), op) {
		return
	}
	n.log.Append(op)
	if !n.cluster.EarlyAnswers {
		n.Sync()
	}
	n.copyTo(c)
	n.answer(c)
}

// copyTo sends every backup the part of the log that it lacks.
func (n *node) copyTo(c *sim.Context[message]) {
	for i := 2; i <= n.cluster.Nodes; i++ {
		from := min(n.have[i], n.log.Last()) + 1
		c.Send(lockstep.Node(i), message{kind: "Copy", from: from, log: n.log.Entries(from, n.log.Last())})
	}
}

// answer applies the operations that all backups have, and answers their clients.
func (n *node) answer(c *sim.Context[message]) {
	safe := n.log.Last()
	for _, k := range n.have[2:] {
		if !n.cluster.EarlyAnswers {
			safe = min(safe, k)
		}
	}
	for n.applied < safe {
		n.applied++
		op := n.log.At(n.applied)
		c.Shared().(*kv.Clients).Answer(n.self, op.Client, op.Seq, n.Apply(op))
	}
}

// String summarizes the state.
func (n *node) String() string {
	return fmt.Sprintf("log=%d applied=%d%s", n.log.Last(), n.applied, n.Map.String())
}
