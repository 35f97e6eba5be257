package zookeeper

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// EventData is the type of the events that tell what a server has in the end; the value is the
// Data.
const EventData = "data"

// Data is what the keys hold.
type Data [Keys]int

// String is the data in words.
func (d Data) String() string {
	var parts []string
	for k, v := range d {
		parts = append(parts, fmt.Sprintf("k%d=%d", k, v))
	}
	return strings.Join(parts, " ")
}

// Properties are what ZooKeeper promises.
var Properties = spec.All(Equal, Sequential, Returns)

// Equal is the promise that after settling all servers have the same data.
var Equal = spec.New("equal-data", func(info lockstep.Info) *equal { return &equal{has: make([]Data, info.Nodes), nodes: info.Nodes} })

type equal struct {
	has    []Data
	heard  lockstep.Nodes
	nodes  int
	judged int
}

// Reset begins a new run.
func (q *equal) Reset() { q.heard, q.judged = 0, 0 }

// Judged counts the runs in which all servers told.
func (q *equal) Judged() int { return q.judged }

// Event notes what a server has.
func (q *equal) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if d, ok := e.Value.(Data); ok && e.Type == EventData {
		q.has[e.Node-1], q.heard = d, q.heard.With(e.Node)
	}
	return nil
}

// End judges what was told last.
func (q *equal) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || q.heard.Len() < q.nodes {
		return nil
	}
	q.judged++
	for i, d := range q.has {
		if d != q.has[0] {
			return &lockstep.Finding{Text: fmt.Sprintf("after all servers came back, server 1 has %s and server %d has %s", q.has[0], i+1, d)}
		}
	}
	return nil
}

// Sequential is the promise that some order of what clients did, in which each client's acts stay in
// theirs, explains what they were told and what is read in the end.
var Sequential = spec.Sequential{Model: model, InOrder: true}

// operation is one that a client sent.
type operation struct {
	kind     kind
	key, arg int // of a write
}

type kind uint8

const (
	read  kind = iota // of a key
	write             // of a value to a key
	final             // a read of everything when nothing more is to come
)

// String is the operation in words.
func (o operation) String() string {
	switch o.kind {
	case read:
		return fmt.Sprintf("read k%d", o.key)
	case write:
		return fmt.Sprintf("write k%d=%d", o.key, o.arg)
	default:
		return "read all in the end"
	}
}

// state is what keys hold, and whether everything was read: then nothing comes any more.
type state struct {
	data   Data
	closed bool
}

// model is the sequential system. The answer to a read is its value, to the final one the data; a
// write has none.
var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, input, output any) (bool, any) {
		now, op := s.(state), input.(operation)
		switch op.kind {
		case final:
			now.closed = true
			return output == any(now.data), now
		case read:
			return !now.closed && output == any(now.data[op.key]), now
		default:
			if now.closed {
				return false, now
			}
			now.data[op.key] = op.arg
			return true, now
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v: %v", input, output) },
}

// Returns is the promise that when all servers serve again in the end, each has a client that it takes back. That its own is refused, because the server has not
// seen as much, is how ZooKeeper works: the client is to try another.
var Returns = spec.New("client-comes-back", func(lockstep.Info) *returns { return &returns{} })

type returns struct {
	drop   *Dropped
	judged int
}

// Reset begins a new run.
func (q *returns) Reset() { *q = returns{} }

// Judged counts the runs in which all servers came back.
func (q *returns) Judged() int { return q.judged }

// Event notes that a client is left over in the end.
func (q *returns) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if d, ok := e.Value.(*Dropped); ok && run.Settling() && q.drop == nil {
		q.drop = d
	}
	return nil
}

// End judges.
func (q *returns) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || run.Up() != trace.AllNodes(run.Info().Nodes) {
		return nil
	}
	q.judged++
	if q.drop == nil {
		return nil
	}
	return &lockstep.Finding{Text: "after all servers came back, " + q.drop.String()}
}
