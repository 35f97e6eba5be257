// Package smr is a replicated log: the running example of "Testing Consensus Implementations using Communication
// Closure" (Drăgoi, Enea, Ozkan, Majumdar, Niksic; OOPSLA 2020), Fig. 1 there. It is a Paxos-like protocol in phases
// of four rounds (Prepare, Ack, Propose, Promise), with the bug that the paper seeds and without it.
//
// The implementation decides some questions that the figure leaves open:
//
//   - The leader of phase k+1 is the node that is in phase k and whose turn k is, round robin from node 1.
//   - A node joins a phase only from a lower one (the paper's Example 3.1).
//   - The leader acts on the first majority of Acks. It takes the log with the highest last phase and, among
//     equals, the longest.
//   - The k-th letter names the command proposed in phase k.
//
// A node whose turn it is sets a timer and starts its phase when the timer fires, repeatedly until it has moved on.
package smr

import (
	"context"
	"fmt"
	"strconv"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Cluster is a deployment of the protocol: a [lockstep.System].
type Cluster struct {
	// Nodes is the number of nodes, 1 to 64.
	Nodes int `help:"number of nodes" range:"1..64"`
	// Bug dates a log by the last phase that a node joined, as in Fig. 1, instead of the last phase in which it
	// accepted a log.
	Bug bool `help:"with the bug of Fig. 1"`
	// Requests makes commands arrive from clients, at any node. A leader proposes the oldest that it has, or none,
	// and a command is lost when its leader fails. 0 means that a leader invents a command for each phase.
	Requests int `help:"number of commands that clients send; 0: leaders create the commands" range:"0..1000000"`
}

// The rounds of a phase.
const (
	prepare = iota
	ack
	propose
	promise
)

var roundNames = []string{"Prepare", "Ack", "Propose", "Promise"}

// message is a message of any of the four rounds.
type message struct {
	round int8
	phase int32
	last  int32 // Ack: the phase that dates the log
	log   Log   // Ack, Propose, Promise
}

// Log is a sequence of commands, each named by a number from 1. A log is immutable, so that messages and nodes can
// share it.
type Log []int32

// String is the commands as letters: "ab". Beyond z it continues with a2, b2 and so on, with dots between commands.
func (l Log) String() string {
	if len(l) == 0 {
		return "-"
	}
	var b []byte
	for i, c := range l {
		if i > 0 && (c > 26 || l[i-1] > 26) {
			b = append(b, '.')
		}
		b = append(b, byte('a'+(c-1)%26))
		if c > 26 {
			b = strconv.AppendInt(b, int64((c-1)/26+1), 10)
		}
	}
	return string(b)
}

// Describe describes the system and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	if err := target.Check("smr", c); err != nil {
		return lockstep.Info{}, err
	}
	return c.cluster().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return c.cluster().Deploy(ctx, p)
}

func (c Cluster) cluster() sim.Cluster[message] {
	name := "smr"
	if c.Bug {
		name = "smr-bug"
	}
	cluster := sim.Cluster[message]{
		Name: name, Options: target.Changed(c, Cluster{Bug: c.Bug}), Nodes: c.Nodes, Rounds: roundNames,
		New: func(self lockstep.Node, n int) sim.Node[message] {
			p := &node{self: self, nodes: n, bug: c.Bug, clients: c.Requests > 0}
			return sim.With(p, sim.Capabilities[message]{Reset: p.Reset, State: p.String, Fingerprint: p.Fingerprint})
		},
		Type: func(m message) string { return roundNames[m.round] },
		Tag:  func(m message) trace.Tag { return trace.Tag{Phase: m.phase, Round: int32(m.round)} },
		Text: messageText,
	}
	for i := range c.Requests {
		cluster.Requests = append(cluster.Requests, "append "+Log{int32(i + 1)}.String())
	}
	return cluster
}

func messageText(m message) string {
	switch m.round {
	case prepare:
		return fmt.Sprintf("phase=%d", m.phase)
	case ack:
		return fmt.Sprintf("phase=%d last=%d log=%s", m.phase, m.last, m.log)
	default:
		return fmt.Sprintf("phase=%d log=%s", m.phase, m.log)
	}
}
