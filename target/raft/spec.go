package raft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Agreement is the protocol's promise: no two nodes commit different entries at one
// index.
var Agreement lockstep.Spec = agreement{}

type agreement struct{}

// Properties implements [lockstep.Spec].
func (agreement) Properties() []string { return []string{"agreement"} }

// New implements [lockstep.Spec].
func (agreement) New(lockstep.Info) lockstep.Monitor { return &agreementMonitor{} }

type agreementMonitor struct {
	first  []committed // by index - 1
	judged [1]int
}

type committed struct {
	node lockstep.Node
	Entry
}

// Reset implements [lockstep.Monitor].
func (a *agreementMonitor) Reset() { a.first, a.judged[0] = a.first[:0], 0 }

// Step implements [lockstep.Monitor].
func (a *agreementMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	for _, e := range run.Events() {
		if e.Type != Committed {
			continue
		}
		entry := e.Value.(*Entry)
		for len(a.first) < entry.Index {
			a.first = append(a.first, committed{})
		}
		was := &a.first[entry.Index-1]
		if was.node == 0 {
			*was = committed{e.Node, *entry}
			continue
		}
		a.judged[0]++
		if was.Term != entry.Term || was.Text != entry.Text {
			return &lockstep.Finding{Property: "agreement", Nodes: trace.NodesOf(e.Node, was.node),
				Text:   fmt.Sprintf("node %d committed %s, and node %d had committed %s", e.Node, entry, was.node, &was.Entry),
				Values: []string{entry.String(), was.Entry.String()}}
		}
	}
	return nil
}

// End implements [lockstep.Monitor].
func (a *agreementMonitor) End(*lockstep.Run) *lockstep.Finding { return nil }

// Judged implements [lockstep.Judge].
func (a *agreementMonitor) Judged() []int { return a.judged[:] }
