package bubble

import (
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble/wire"
	"github.com/lockstep-go/lockstep/trace"
)

// Network is how the nodes of a [Cluster] communicate: [Messages] or [Sockets].
type Network interface{ isNetwork() }

// Messages is a network for programs with a transport that can be replaced: nodes send by [Node.Send] and receive by
// [Node.Receive].
type Messages struct {
	// Types, Rounds, Phases and Aside are as in lockstep.Info.
	Types, Rounds, Aside []string
	Phases               trace.Phases
	// Duplicates declares that the network may deliver a message twice.
	Duplicates bool
	// FIFO declares that messages on a link arrive in the order of sending.
	FIFO bool

	// Text returns the body of a message as text; nil means fmt's %v.
	Text func(body any) string
	// Parse reads the body of a Replace step: a whole message as text. Its type may differ from that of the replaced
	// message. With nil, messages cannot be forged.
	Parse func(text string) (kind string, tag trace.Tag, body any, err error)
	// Rank makes the order of messages independent of the Go scheduler. Each time the bubble is quiescent, the
	// deployment sorts the new messages by sender, receiver, tag, rank and type; otherwise the order of sending
	// remains. Rank is for programs in which several goroutines of a node, or random choices, decide in which order
	// they send. With nil all messages have the same rank.
	Rank func(body any) int
	// Announce receives each message before the engine does, in the order in which the engine gets them, while the
	// bubble is quiescent. That order is reproducible, so that a program can number its messages there: Announce may
	// write the number into the body. It also receives the body of a forged message, which Parse returned. Nil does
	// nothing.
	Announce func(w *World, from, to lockstep.Node, body any)
}

// Sockets is a network for programs that communicate by package net, unaware of Lockstep. The data on their sockets
// becomes messages of the engine. It needs a program built with the overlay ("lockstep go").
//
// Node n has the address 10.0.0.n; its host name is "node" followed by n, such as "node1". Messages have the types
// connect, connected, refused, data, close, reset, datagram and unreachable, unless the protocol is known. The sockets
// behave like those of Linux: see bubble/sockettest.
type Sockets struct {
	// Decode derives types and texts from the data on sockets. With nil it is wire.Detect, which recognizes some
	// protocols by their first bytes.
	Decode wire.Protocol
	// Split is the share of writes that travel in two parts, from 0 to 1. Each part is a message of the engine. In the
	// settling stage no write is split.
	Split float64
}

func (Messages) isNetwork() {}
func (Sockets) isNetwork()  {}

// errOverlay says that a setting of a cluster needs the overlay.
var errOverlay = errors.New("needs a program built by \"lockstep go build\" or \"lockstep go test\"")

// network is the cluster's network. The sockets are nil if nodes send messages by Node.Send.
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

// check reports what is wrong with the settings of sockets.
func (s *Sockets) check() error {
	if !Overlay {
		return fmt.Errorf("a network of sockets %w", errOverlay)
	}
	if !(s.Split >= 0 && s.Split <= 1) {
		return fmt.Errorf("the share of writes to split (Sockets.Split) is %v, allowed are 0..1", s.Split)
	}
	return nil
}
