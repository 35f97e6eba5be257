//go:build lockstep_overlay

package serftest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// The number of steps of the settling stage, and the time without faults that the stage must reach before the spec
// checks the end. A node reconnects every 30 seconds to one of the failed nodes. Every 30 seconds it exchanges all
// events with one of the others.
const (
	settle        = 20_000
	deliveryLimit = 4 * time.Minute
)

// once is the spec that no incarnation of a node receives an event twice, or an event that no node sent. For all
// incarnations of a node together serf guarantees that only if the node has a snapshot.
func once(together bool) lockstep.Spec {
	return spec.New("once", func(lockstep.Info) *view { return &view{together: together} })
}

// agreement is the spec that nodes converge. Some minutes after the last fault, the running nodes see exactly each
// other as members, and all of them have received the same events.
func agreement() lockstep.Spec {
	return spec.New("agreement", func(lockstep.Info) *atEnd { return &atEnd{} })
}

// view tracks what each node sees.
type view struct {
	together bool // count all incarnations of a node as one

	sent    map[string]bool
	got     [8]map[string]bool // by node
	members [8]lockstep.Nodes
	checked int
}

func (v *view) Reset() { *v = view{together: v.together, sent: map[string]bool{}} }

// End returns nil: only events are checked.
func (*view) End(*lockstep.Run) *lockstep.Finding { return nil }

func (v *view) Checked() int { return v.checked }

func (v *view) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case eventUp:
		v.members[e.Node] = trace.NodesOf(e.Node)
		if v.got[e.Node] == nil || !v.together {
			v.got[e.Node] = map[string]bool{}
		}
	case eventJoin:
		v.members[e.Node] = v.members[e.Node].With(number(e.Value))
	case eventLeft:
		v.members[e.Node] = v.members[e.Node].Without(number(e.Value))
	case eventSent:
		v.sent[e.Value.(string)] = true
	case eventGot:
		v.checked++
		p := e.Value.(string)
		if v.got[e.Node][p] || !v.sent[p] {
			return finding(e.Node, "node %d gets event %s, sent: %v, had it: %v",
				e.Node, p, v.sent[p], v.got[e.Node][p])
		}
		v.got[e.Node][p] = true
	}
	return nil
}

func number(name any) (n lockstep.Node) {
	_, _ = fmt.Sscanf(fmt.Sprint(name), "node%d", &n)
	return n
}

// atEnd checks each node's view at the end of the settling stage.
type atEnd struct {
	view
	began  trace.Time
	checks int
}

func (a *atEnd) Reset() { a.view.Reset(); a.began = -1; a.checks = 0 }

func (a *atEnd) Checked() int { return a.checks }

func (a *atEnd) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if run.Settling() && a.began < 0 {
		a.began = run.Now()
	}
	a.view.Event(run, e)
	return nil
}

func (a *atEnd) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || a.began < 0 || time.Duration(run.Now()-a.began) < deliveryLimit {
		return nil
	}
	a.checks++
	all := map[string]bool{}
	for n := range run.Up().All() {
		maps.Copy(all, a.got[n])
	}
	for n := range run.Up().All() {
		if a.members[n] != run.Up() {
			return finding(n, "node %d sees %v; up are %v", n, a.members[n], run.Up())
		}
		for _, p := range slices.Sorted(maps.Keys(all)) {
			if !a.got[n][p] {
				return finding(n, "node %d lacks event %s, which another node has", n, p)
			}
		}
	}
	return nil
}

func finding(n lockstep.Node, format string, args ...any) *lockstep.Finding {
	return &lockstep.Finding{Nodes: trace.NodesOf(n), Text: fmt.Sprintf(format, args...)}
}
