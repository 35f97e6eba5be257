package pbft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Agreement is the protocol's promise: no two correct nodes decide different requests at
// one index, and no correct node decides twice. A node is correct as long as none of its
// messages was forged.
var Agreement = spec.New("agreement", func(lockstep.Info) *agreement { return &agreement{} })

// agreement keeps all decisions: a node whose decision was taken for granted may turn
// out to be faulty later.
type agreement struct {
	made   []made
	judged int
}

type made struct {
	node lockstep.Node
	Decision
}

// Reset begins a new run.
func (a *agreement) Reset() { a.made, a.judged = a.made[:0], 0 }

// Judged counts the judgements.
func (a *agreement) Judged() int { return a.judged }

// Event judges an event.
func (a *agreement) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	forged := run.Faults().Forged
	if e.Type != Decided || forged.Has(e.Node) {
		return nil
	}
	now := made{e.Node, *e.Value.(*Decision)}
	for _, d := range a.made {
		if d.Index != now.Index || forged.Has(d.node) {
			continue
		}
		a.judged++
		if d.Request != now.Request {
			return &lockstep.Finding{Nodes: trace.NodesOf(d.node, now.node),
				Text: fmt.Sprintf("at index %d node %d decided %s in view %d, and node %d had decided %s in view %d",
					now.Index, now.node, orDash(now.Request), now.View, d.node, orDash(d.Request), d.View),
				Values: []string{orDash(now.Request), orDash(d.Request)}}
		}
	}
	a.made = append(a.made, now)
	return nil
}
