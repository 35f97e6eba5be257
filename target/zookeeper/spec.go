package zookeeper

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// EventData is the type of the events that report the final data of a server; the value is the Data.
const EventData = "data"

// Data is the content of the keys.
type Data [Keys]int

// String returns the data as text.
func (d Data) String() string {
	var parts []string
	for k, v := range d {
		parts = append(parts, fmt.Sprintf("k%d=%d", k, v))
	}
	return strings.Join(parts, " ")
}

// Properties are ZooKeeper's guarantees.
var Properties = spec.All(Equal, Sequential, Returns)

// Equal is the guarantee that after settling all servers have the same data.
var Equal = spec.New("equal-data",
	func(info lockstep.Info) *equal { return &equal{has: make([]Data, info.Nodes), nodes: info.Nodes} })

type equal struct {
	has     []Data
	heard   lockstep.Nodes
	nodes   int
	checked int
}

// Reset begins a new run.
func (q *equal) Reset() { q.heard, q.checked = 0, 0 }

// Checked returns the number of runs in which all servers reported.
func (q *equal) Checked() int { return q.checked }

// Event records the data of a server.
func (q *equal) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if d, ok := e.Value.(Data); ok && e.Type == EventData {
		q.has[e.Node-1], q.heard = d, q.heard.With(e.Node)
	}
	return nil
}

// End checks the last reports.
func (q *equal) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || q.heard.Len() < q.nodes {
		return nil
	}
	q.checked++
	for i, d := range q.has {
		if d != q.has[0] {
			return &lockstep.Finding{
				Text: fmt.Sprintf("after all servers came back, server 1 has %s and server %d has %s", q.has[0], i+1,
					d),
			}
		}
	}
	return nil
}

// Sequential is the guarantee of sequential consistency: some order of the operations that preserves each client's
// order explains all results and the final data.
var Sequential = spec.Sequential{Model: model, InOrder: true}

// operation is an operation of a client.
type operation struct {
	kind     kind
	key, arg int // of a write
}

type kind uint8

const (
	read  kind = iota // of a key
	write             // of a value to a key
	final             // a read of all keys after all other operations
)

// String returns the operation as text.
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

// state is the content of keys, and whether the final read happened: no operation follows it.
type state struct {
	data   Data
	closed bool
}

// model is the sequential system. The result of a read is its value, and of the final one the data; a write has none.
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

// Returns is the guarantee that when all servers serve again in the end, each has a client that it accepts. A server
// may refuse its own client because the client has seen a later transaction. That is how ZooKeeper works: the client
// connects to another server.
var Returns = spec.New("client-comes-back", func(lockstep.Info) *returns { return &returns{} })

type returns struct {
	drop    *Dropped
	checked int
}

// Reset begins a new run.
func (r *returns) Reset() { *r = returns{} }

// Checked returns the number of runs in which all servers came back.
func (r *returns) Checked() int { return r.checked }

// Event records that a client was finally dropped.
func (r *returns) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if d, ok := e.Value.(*Dropped); ok && run.Settling() && r.drop == nil {
		r.drop = d
	}
	return nil
}

// End checks the run.
func (r *returns) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || run.Up() != trace.AllNodes(run.Info().Nodes) {
		return nil
	}
	r.checked++
	if r.drop == nil {
		return nil
	}
	return &lockstep.Finding{Text: "after all servers came back, " + r.drop.String()}
}
