package memberlist

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/wire"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of hashicorp/memberlist with its defaults for a local network: a [lockstep.System]. Its
// zero value has five nodes.
type Cluster struct {
	// Nodes is the number of nodes; 0 means 5.
	Nodes int `help:"number of nodes, 2 to 9; 0: 5" zero:"5" range:"2..9"`
	// NoRejoin stops nodes from contacting missing members again. The library itself forgets nodes after a long
	// absence, and then no node contacts them; programs that use the library do.
	NoRejoin bool `help:"nodes do not contact missing members again"`
	// Split is the share of writes on connections that travel in two parts.
	Split float64 `help:"share of writes on connections that travel in two parts, 0 to 1" range:"0..1"`

	bubble.FaultOptions
}

// rejoin is the interval at which a node contacts missing members.
const rejoin = 5 * time.Second

func (c Cluster) bubble() bubble.Cluster {
	return bubble.Cluster{Name: "memberlist", Options: target.Changed(c, Cluster{}), Nodes: target.Fill(c).Nodes,
		Network: bubble.Sockets{Split: c.Split, Decode: wire.Each(decode)}, Pace: time.Second,
		FaultOptions: c.FaultOptions, Start: func(n *bubble.Node) error { return start(n, !c.NoRejoin) }}
}

// Describe describes the cluster and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	if err := target.Check("memberlist", target.Fill(c)); err != nil {
		return lockstep.Info{}, err
	}
	return c.bubble().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return c.bubble().Deploy(ctx, p)
}

// port is the gossip port of all nodes.
const port = 7946

// start starts a node: it joins the others, and contacts missing members again.
func start(n *bubble.Node, again bool) error {
	c := memberlist.DefaultLANConfig()
	c.Name, c.BindAddr, c.AdvertiseAddr, c.BindPort, c.AdvertisePort = name(n.Self()), "0.0.0.0", address(n.Self()),
		port, port
	c.EnableCompression = false // so that messages have names
	c.Logger = log.New(n.LogWriter(bubble.Info), "", 0)
	c.Events = changes{n}
	list, err := memberlist.Create(c)
	if err != nil {
		return err
	}
	n.OnStop(func() { _ = list.Shutdown() })
	n.SetState(func() string { return "sees " + strings.Join(seen(list), " ") })
	n.Emit(EventUp, nil)
	for first := true; n.Alive(); first = false {
		n.Emit(EventSearch, nil)
		if first || again {
			for _, other := range n.Others() {
				if !slices.Contains(seen(list), name(other)) {
					_, _ = list.Join([]string{address(other)}) // it may be down
				}
			}
		}
		select {
		case <-time.After(rejoin):
		case <-n.Context().Done():
			return nil
		}
	}
	return nil
}

func name(n lockstep.Node) string { return fmt.Sprintf("node%d", n) }

func address(n lockstep.Node) string { return fmt.Sprintf("10.0.0.%d", n) }

// seen are the names of the members that a node sees.
func seen(list *memberlist.Memberlist) []string {
	var names []string
	for _, m := range list.Members() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// changes reports members that join and leave.
type changes struct{ node *bubble.Node }

// NotifyJoin is called when a member joins.
func (c changes) NotifyJoin(m *memberlist.Node) { c.node.Emit(EventJoin, m.Name) }

// NotifyLeave is called when a member leaves.
func (c changes) NotifyLeave(m *memberlist.Node) { c.node.Emit(EventLeave, m.Name) }

// NotifyUpdate is called when a member changes.
func (c changes) NotifyUpdate(*memberlist.Node) {}

// kinds are the library's types of messages, by their first byte.
var kinds = []string{"ping", "indirect ping", "ack", "suspect", "alive", "dead", "push-pull", "compound", "user",
	"compressed", "encrypted", "nack", "crc", "error"}

const compound, crc = 7, 12

// decode names a packet, or the beginning of a connection. A packet may hold several messages: it has the name of the
// first.
func decode(data []byte) (kind, text string) {
	if len(data) > 5 && data[0] == crc {
		data = data[5:]
	}
	if len(data) < 2 || int(data[0]) >= len(kinds) {
		return "", ""
	}
	if data[0] != compound {
		return kinds[data[0]], ""
	}
	count := int(data[1])
	at := 2 + 2*count
	var parts []string
	for i := 0; i < count && at < len(data); i++ {
		if int(data[at]) >= len(kinds) {
			return "", ""
		}
		parts = append(parts, kinds[data[at]])
		at += int(data[2+2*i])<<8 | int(data[3+2*i])
	}
	if len(parts) == 0 {
		return "", ""
	}
	return parts[0], "with " + strings.Join(parts[1:], ", ")
}
