package raft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Agreement is the protocol's promise: no two nodes commit different entries at one
// index.
var Agreement = spec.New("agreement", func(lockstep.Info) *agreement { return &agreement{} })

// agreement remembers the first commit at each index.
type agreement struct {
	first  []committed // by index - 1
	judged int
}

type committed struct {
	node lockstep.Node
	Entry
}

// Reset begins a new run.
func (a *agreement) Reset() { a.first, a.judged = a.first[:0], 0 }

// Judged counts the judgements.
func (a *agreement) Judged() int { return a.judged }

// Event judges an event.
func (a *agreement) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type != Committed {
		return nil
	}
	entry := e.Value.(*Entry)
	for len(a.first) < entry.Index {
		a.first = append(a.first, committed{})
	}
	was := &a.first[entry.Index-1]
	if was.node == 0 {
		*was = committed{e.Node, *entry}
		return nil
	}
	a.judged++
	if was.Term == entry.Term && was.Text == entry.Text {
		return nil
	}
	return &lockstep.Finding{Nodes: trace.NodesOf(e.Node, was.node),
		Text:   fmt.Sprintf("node %d committed %s, and node %d had committed %s", e.Node, entry, was.node, &was.Entry),
		Values: []string{entry.String(), was.Entry.String()}}
}
