package bubble

import (
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble/wire"
	"github.com/lockstep-go/lockstep/trace"
)

// Network is how the nodes of a [Cluster] talk to each other: [Messages] or [Sockets].
type Network interface{ isNetwork() }

// Messages is a network for programs with a transport that can be replaced: nodes hand messages over by [Node.Send] and
// get them by [Node.Receive].
type Messages struct {
	// Types, Rounds, Phases and Aside are as in lockstep.Info.
	Types, Rounds, Aside []string
	Phases               trace.Phases
	// Duplicates says that the network may deliver a message twice.
	Duplicates bool
	// FIFO says that messages on a link arrive in the order of sending.
	FIFO bool

	// Text returns the body of a message as text; nil means fmt's %v.
	Text func(body any) string
	// Parse reads the body of a Replace step, a whole message as text, which may be of another type than the one replaced;
	// nil means that messages cannot be forged.
	Parse func(text string) (kind string, tag trace.Tag, body any, err error)
	// Rank orders what a node sends to another between two quiet moments, where sender, receiver and tag are alike, before
	// the type does; nil: all alike. It is for programs in which several goroutines, or chance, decide about that order.
	Rank func(body any) int
	// Announce, where it is set, is called for each message in the order in which the engine learns of them, when all nodes
	// are quiet: for bodies that carry numbers of their own. It is called for what Parse made of a forged body, too.
	Announce func(w *World, from, to lockstep.Node, body any)
}

// Sockets is a network for programs that talk by package net, unaware of Lockstep: what travels on their sockets is the
// engine's messages. It needs a program built with the overlay ("lockstep go"). Node n has the address 10.0.0.n and the
// name "node" n. Messages have the types connect, connected, refused, data, close, reset, datagram and unreachable,
// unless the protocol is known. Sockets behave as those of Linux: see bubble/sockettest.
type Sockets struct {
	// Decode gives what is written on sockets types and texts; nil means wire.Detect, which knows some protocols by their
	// first bytes.
	Decode wire.Protocol
	// Split is the share of what is written at once that travels in two parts, each of which is a message of the engine;
	// from 0 to 1. In the settling stage none does.
	Split float64
}

func (Messages) isNetwork() {}
func (Sockets) isNetwork()  {}

// errOverlay says what a part of a cluster needs.
var errOverlay = errors.New("needs a program built by \"lockstep go build\" or \"lockstep go test\"")

// network is the cluster's network; the sockets are nil where nodes hand messages over.
func (c *Cluster) network() (Messages, *Sockets, error) {
	switch n := c.Network.(type) {
	case nil:
		return Messages{}, nil, nil
	case Messages:
		return n, nil, nil
	case Sockets:
		if n.Decode == nil {
			n.Decode = wire.Detect
		}
		return Messages{}, &n, n.check()
	default:
		return Messages{}, nil, fmt.Errorf("the network is a %T, allowed are bubble.Messages and bubble.Sockets", n)
	}
}

// check says what is wrong with sockets.
func (s *Sockets) check() error {
	if !Exact {
		return fmt.Errorf("a network of sockets %w", errOverlay)
	}
	if !(s.Split >= 0 && s.Split <= 1) {
		return fmt.Errorf("the share of writes to split (Sockets.Split) is %v, allowed are 0..1", s.Split)
	}
	return nil
}
