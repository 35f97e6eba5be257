package process

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Breakage is the effect of a cut on connections.
type Breakage uint8

// The kinds of breakage.
const (
	// Closes means that a cut resets the connections across it and refuses new ones, as if the host did not exist. A
	// cut in one direction is enough to close a connection.
	Closes Breakage = iota
	// Stalls means that connections across a cut stall until it heals, in the direction of the cut, as when a network
	// loses all IP packets. New connections can be opened, but no data arrives.
	Stalls
	// Swallows means that connections across a cut continue, and packets that would cross it are lost one by one, as if
	// a server's own code dropped them. No network does that: it is for comparisons with tests that instrument servers.
	// Packets without a type pass, and so does everything on a link without a decoder.
	Swallows
)

// StallsIf returns [Stalls] if stall is true, and otherwise [Closes]. It is for targets with an option "stall".
func StallsIf(stall bool) Breakage {
	if stall {
		return Stalls
	}
	return Closes
}

// Network holds the links between the servers of a deployment.
//
// It has two means to make typed packets wait at the head of their connection. SetControlled makes every packet wait
// until Deliver or Drop decides about it; Poll returns these packets. A progress limit makes packets wait whose
// [Packet].Progress is above it. At first there is no limit; RaiseLimit sets it, for all links alike.
type Network struct {
	breakage Breakage
	nodes    int
	owner    func(pid int) lockstep.Node // the node that a process belongs to

	mutex   sync.Mutex
	gates   [][]gate       // by sender and receiver, from 0
	offline lockstep.Nodes // nodes without connections
	links   []*Link

	packets packets

	quit   chan struct{}
	closed sync.WaitGroup
}

// gate is one direction between two nodes.
type gate struct {
	cut, held bool
	delay     time.Duration
	changed   chan struct{} // closed when any of this changes
}

// following is how often links check whether their server listens.
const following = 10 * time.Millisecond

// NewNetwork creates the network of the given number of nodes, without links or cuts. The function owner returns the
// node that a process belongs to, or 0. It may be nil if no call of [Network.Link] has from 0.
func NewNetwork(nodes int, breakage Breakage, owner func(pid int) lockstep.Node) *Network {
	n := &Network{
		breakage: breakage,
		nodes:    nodes,
		owner:    owner,
		gates:    make([][]gate, nodes+1),
		packets:  packets{waiting: map[int]*waiting{}},
		quit:     make(chan struct{}),
	}
	for i := range n.gates {
		n.gates[i] = make([]gate, nodes+1)
		for j := range n.gates[i] {
			n.gates[i][j].changed = make(chan struct{})
		}
	}
	n.ClearLimit()
	n.closed.Go(n.follow)
	return n
}

// Link creates a proxy for connections that node from opens to node to. It listens at the address listen, where from
// expects the other node, and forwards connections to target, where the server of node to listens. With from 0 any node
// may dial, and the kernel identifies the dialer. That is for protocols in which all nodes must use the same address
// for a node. If greet is not nil, it relays the beginning of each connection.
func (n *Network) Link(from, to lockstep.Node, listen, target string, greet Handshake) (*Link, error) {
	if int(from) > n.nodes || to < 1 || int(to) > n.nodes || from == to {
		return nil, fmt.Errorf("process: no link from node %d to %d, there are 1..%d", from, to, n.nodes)
	}
	if from == 0 && n.owner == nil {
		return nil, errors.New("process: a link that any node may dial needs the function owner of NewNetwork")
	}
	address, err := loopback(target)
	if err != nil {
		return nil, err
	}
	l := &Link{network: n, from: from, to: to, listen: listen, target: address, greet: greet, pairs: map[*pair]bool{}}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.links = append(n.links, l)
	return l, nil
}

// loopback parses an address, which must be on the loopback.
func loopback(text string) (*net.TCPAddr, error) {
	address, err := net.ResolveTCPAddr("tcp", text)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	if !address.IP.IsLoopback() {
		return nil, fmt.Errorf("process: %s is not on the loopback", text)
	}
	return address, nil
}

// Cut replaces all cuts of the network: blocked returns for each node the nodes that it does not reach. Cuts that are
// not among these heal.
func (n *Network) Cut(blocked func(from lockstep.Node) lockstep.Nodes) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for from := range n.gates {
		to := lockstep.Nodes(0)
		if from > 0 {
			to = blocked(lockstep.Node(from))
		}
		for j := range n.gates[from] {
			g := &n.gates[from][j]
			g.set(&g.cut, to.Has(lockstep.Node(j)))
		}
	}
	for _, l := range n.links {
		l.obey()
	}
}

// SetOffline takes a node off the network, or brings it back. It resets the node's connections at once, and no new ones
// open, whatever the breakage. So the other nodes see that a server ended, even while its process takes time to end.
func (n *Network) SetOffline(node lockstep.Node, offline bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.offline = n.offline.Without(node); offline {
		n.offline = n.offline.With(node)
	}
	for _, l := range n.links {
		l.obey()
	}
}

// Hold stalls all traffic from one node to another, or releases it. Connections stay open.
func (n *Network) Hold(from, to lockstep.Node, held bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	g := &n.gates[from][to]
	g.set(&g.held, held)
}

// Delay delays all traffic from one node to another by a time; 0 ends the delay.
func (n *Network) Delay(from, to lockstep.Node, d time.Duration) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.gates[from][to].delay = d
}

func (g *gate) set(what *bool, to bool) {
	if *what != to {
		*what = to
		close(g.changed)
		g.changed = make(chan struct{})
	}
}

// state reports whether the direction is stalled, its delay, and a channel that is closed when either changes.
func (n *Network) state(from, to lockstep.Node) (still bool, delay time.Duration, changed <-chan struct{}) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	g := &n.gates[from][to]
	return g.cut && n.breakage != Swallows || g.held, g.delay, g.changed
}

// swallows reports whether a packet in this direction is lost alone.
func (n *Network) swallows(from, to lockstep.Node) bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.breakage == Swallows && n.gates[from][to].cut
}

// severed reports whether connections between two nodes are impossible: a cut in either direction closes them. The
// caller holds the network's mutex.
func (n *Network) severed(a, b lockstep.Node) bool {
	return n.offline.Has(a) || n.offline.Has(b) || n.breakage == Closes && (n.gates[a][b].cut || n.gates[b][a].cut)
}

// follow opens and closes the listeners of links as their servers do.
func (n *Network) follow() {
	for {
		select {
		case <-n.quit:
			return
		case <-time.After(following):
		}
		listens := listening()
		n.mutex.Lock()
		for _, l := range n.links {
			l.alive = listens == nil ||
				slices.ContainsFunc(listens,
					func(a net.TCPAddr) bool { return serves(&a, l.target) || serves(&a, l.beside) })
			l.obey()
		}
		n.mutex.Unlock()
	}
}

// serves reports whether a socket that listens at one address can be dialed at another.
func serves(at, dialed *net.TCPAddr) bool {
	return dialed != nil && at.Port == dialed.Port && (at.IP.Equal(dialed.IP) || at.IP.IsUnspecified())
}

// Listens returns an error while no process listens at a loopback address. It asks the kernel, because the server would
// notice a probing connection. Where the kernel has no such table, it assumes that a process listens.
func Listens(address string) error {
	a, err := loopback(address)
	if err != nil {
		return err
	}
	if listens := listening(); listens != nil &&
		!slices.ContainsFunc(listens, func(at net.TCPAddr) bool { return serves(&at, a) }) {
		return fmt.Errorf("process: nothing listens at %s", address)
	}
	return nil
}

// Close closes all links and their connections.
func (n *Network) Close() error {
	close(n.quit)
	n.mutex.Lock()
	for _, l := range n.links {
		l.ended = true
		l.obey()
	}
	n.mutex.Unlock()
	n.closed.Wait()
	return nil
}

// dialed is a process and an address that it has dialed.
type dialed struct {
	pid int
	to  *net.TCPAddr
}

// CheckBypass returns an error if one of the processes has a connection to another server that bypasses the link to it.
// Cuts do not affect such a connection.
func (n *Network) CheckBypass(pids []int) error {
	var targets []*net.TCPAddr
	server := map[*net.TCPAddr]lockstep.Node{}
	n.mutex.Lock()
	for _, l := range n.links {
		targets = append(targets, l.target)
		server[l.target] = l.to
	}
	n.mutex.Unlock()
	for _, d := range dials(pids, targets) {
		if n.owner != nil && n.owner(d.pid) == server[d.to] {
			continue // a connection to itself
		}
		return fmt.Errorf("process: process %d dialed %s directly, not through a link", d.pid, d.to)
	}
	return nil
}

// NoCuts is the argument of [Network.Cut] that heals all cuts.
func NoCuts(lockstep.Node) lockstep.Nodes { return trace.NodesOf() }
