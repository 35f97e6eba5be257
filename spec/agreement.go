package spec

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Agreement is the spec that no two correct nodes decide differently at one slot, and no correct node twice. A node is
// correct as long as none of its messages was forged.
//
// A decision is the value *D of an event of the given type. The function slot returns the slot of a decision, for
// example its index in a log. The function same compares two decisions of one slot. The text of a finding reads "node 1
// decided a, and node 2 had decided b". So the event type should be a verb in the past tense, e.g. "decided".
func Agreement[D any](event string, slot func(*D) int, same func(a, b *D) bool) lockstep.Spec {
	return New("agreement", func(lockstep.Info) *agreement[D] {
		return &agreement[D]{event: event, place: slot, same: same}
	})
}

// agreement keeps all decisions: a node whose decision was accepted may turn out to be faulty later.
type agreement[D any] struct {
	event   string
	place   func(*D) int
	same    func(a, b *D) bool
	made    map[int][]made[D]
	checked int
}

type made[D any] struct {
	node lockstep.Node
	what D
}

// Reset begins a new run.
func (a *agreement[D]) Reset() {
	if a.made == nil {
		a.made = map[int][]made[D]{}
	}
	clear(a.made)
	a.checked = 0
}

// End returns nil: only events are checked.
func (*agreement[D]) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the checks.
func (a *agreement[D]) Checked() int { return a.checked }

// Event checks a decision.
func (a *agreement[D]) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	forged := run.Byzantine()
	if e.Type != a.event || forged.Has(e.Node) {
		return nil
	}
	now := e.Value.(*D)
	at := a.place(now)
	compared := false
	defer func() {
		if compared {
			a.checked++
		}
	}()
	for i := range a.made[at] {
		was := &a.made[at][i]
		if forged.Has(was.node) {
			continue
		}
		compared = true
		if !a.same(now, &was.what) {
			is, then := fmt.Sprint(now), fmt.Sprint(&was.what)
			return &lockstep.Finding{Nodes: trace.NodesOf(e.Node, was.node), Values: []string{is, then},
				Text: fmt.Sprintf("node %d %s %s, and node %d had %s %s", e.Node, e.Type, is, was.node, e.Type, then)}
		}
	}
	a.made[at] = append(a.made[at], made[D]{e.Node, *now})
	return nil
}
