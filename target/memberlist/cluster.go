package memberlist

import (
	"context"
	"fmt"
	"io"
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

// Cluster is a deployment of hashicorp/memberlist with its defaults for a local network: a
// [lockstep.System]. Its zero value is five nodes.
type Cluster struct {
	// Nodes is the number of nodes; 0 means 5.
	Nodes int `help:"number of nodes, 2 to 9; 0: 5" zero:"5" range:"2..9"`
	// NoRejoin leaves a node alone that does not see all others. The library itself forgets
	// nodes that were away for long, so that nobody calls them again; programs that use it
	// do.
	NoRejoin bool `help:"nodes do not call those again that they miss"`
	// Split is the share of writes on connections that travel in two parts.
	Split float64 `help:"share of writes on connections that travel in two parts, 0 to 1" range:"0..1"`
}

// rejoin is how often a node calls those that it misses.
const rejoin = 5 * time.Second

func (c Cluster) bubble() bubble.Cluster {
	return bubble.Cluster{Name: "memberlist", Options: target.Changed(c, Cluster{}), Nodes: target.Fill(c).Nodes, Sockets: true, Split: c.Split,
		Decode: wire.Each(decode), Pace: time.Second, Start: func(n *bubble.Node) error { return start(n, !c.NoRejoin) }}
}

// Describe says what the cluster is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	if err := target.Check("memberlist", target.Fill(c)); err != nil {
		return lockstep.Info{}, err
	}
	return c.bubble().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Place) (lockstep.Deployment, error) {
	return c.bubble().Deploy(ctx, p)
}

// port is the one that all nodes gossip on.
const port = 7946

// start brings a node up: it joins the others, and calls those again that it misses.
func start(n *bubble.Node, again bool) error {
	c := memberlist.DefaultLANConfig()
	c.Name, c.BindAddr, c.AdvertiseAddr, c.BindPort, c.AdvertisePort = name(n.Self()), "0.0.0.0", address(n.Self()), port, port
	c.EnableCompression = false // so that messages have names
	c.Logger = log.New(io.Discard, "", 0)
	c.Events = changes{n}
	list, err := memberlist.Create(c)
	if err != nil {
		return err
	}
	n.OnStop(func() { _ = list.Shutdown() })
	n.State(func() string { return "sees " + strings.Join(seen(list), " ") })
	n.Emit(EventUp, nil)
	for first := true; n.Alive(); first = false {
		n.Emit(EventLook, nil)
		if first || again {
			for _, other := range n.Others() {
				if !slices.Contains(seen(list), name(other)) {
					_, _ = list.Join([]string{address(other)}) // it may be away
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

// changes tells of members that come and go.
type changes struct{ node *bubble.Node }

// NotifyJoin is called when a member comes.
func (c changes) NotifyJoin(m *memberlist.Node) { c.node.Emit(EventJoin, m.Name) }

// NotifyLeave is called when one goes.
func (c changes) NotifyLeave(m *memberlist.Node) { c.node.Emit(EventLeave, m.Name) }

// NotifyUpdate is called when one changes.
func (c changes) NotifyUpdate(*memberlist.Node) {}

// kinds are the library's types of messages, by their first byte.
var kinds = []string{"ping", "indirect ping", "ack", "suspect", "alive", "dead", "push-pull", "compound", "user", "compressed", "encrypted", "nack", "crc", "error"}

const compound, crc = 7, 12

// decode names a packet, or what begins a connection. Several messages may share a packet: it
// has the name of the first.
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
