package pbft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Agreement is the protocol's promise: no two correct nodes decide different requests at
// one index, and no correct node decides twice. A node is correct as long as none of its
// messages was forged.
var Agreement lockstep.Spec = agreement{}

type agreement struct{}

// Properties implements [lockstep.Spec].
func (agreement) Properties() []string { return []string{"agreement"} }

// New implements [lockstep.Spec].
func (agreement) New(lockstep.Info) lockstep.Monitor { return &agreementMonitor{} }

// agreementMonitor keeps all decisions: a node whose decision was taken for granted may
// turn out to be faulty later.
type agreementMonitor struct {
	made   []made
	judged [1]int
}

type made struct {
	node lockstep.Node
	Decision
}

// Reset implements [lockstep.Monitor].
func (a *agreementMonitor) Reset() { a.made, a.judged[0] = a.made[:0], 0 }

// Step implements [lockstep.Monitor].
func (a *agreementMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	for _, e := range run.Events() {
		if e.Type != Decided {
			continue
		}
		now := made{e.Node, *e.Value.(*Decision)}
		if f := a.compare(run, now); f != nil {
			return f
		}
		a.made = append(a.made, now)
	}
	return nil
}

func (a *agreementMonitor) compare(run *lockstep.Run, now made) *lockstep.Finding {
	forged := run.Faults().Forged
	if forged.Has(now.node) {
		return nil
	}
	for _, d := range a.made {
		if d.Index != now.Index || forged.Has(d.node) {
			continue
		}
		a.judged[0]++
		if d.Request != now.Request {
			return &lockstep.Finding{Property: "agreement", Nodes: trace.NodesOf(d.node, now.node),
				Text: fmt.Sprintf("at index %d node %d decided %s in view %d, and node %d had decided %s in view %d",
					now.Index, now.node, orDash(now.Request), now.View, d.node, orDash(d.Request), d.View),
				Values: []string{orDash(now.Request), orDash(d.Request)}}
		}
	}
	return nil
}

// End implements [lockstep.Monitor].
func (a *agreementMonitor) End(*lockstep.Run) *lockstep.Finding { return nil }

// Judged implements [lockstep.Judge].
func (a *agreementMonitor) Judged() []int { return a.judged[:] }
