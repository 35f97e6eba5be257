package memberlist

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// The types of event: a node has started; it searches for missing members; a member, whose name is the value, joins or
// leaves in its view.
const (
	EventUp     = "up"
	EventSearch = "search"
	EventJoin   = "join"
	EventLeave  = "leave"
)

// timeout is the time without faults after which all nodes must agree, in virtual time. Suspicions last for some
// seconds, and nodes contact missing members every few seconds.
const timeout = 2 * time.Minute

// Converges is the spec that some time after the last fault every running node sees exactly the running nodes. It is
// checked at the end of a settling stage of two minutes of virtual time.
var Converges = spec.New("convergence", func(i lockstep.Info) *views { return &views{nodes: i.Nodes} })

// Target is the library as a target of the command line, in a program built with the overlay.
var Target = target.Of("memberlist", "hashicorp/memberlist, unmodified, over UDP and TCP in memory", Cluster{},
	Converges).
	Settled(Settle)

// Settle is the length of a settling stage in which convergence can be checked, for five nodes.
const Settle = 12_000

// views tracks the members that each node sees.
type views struct {
	nodes   int
	sees    [64]lockstep.Nodes // by node
	began   trace.Time
	checked int
}

// Reset begins a new run.
func (v *views) Reset() { v.sees, v.began, v.checked = [64]lockstep.Nodes{}, -1, 0 }

// Checked counts the checks.
func (v *views) Checked() int { return v.checked }

// Event records a change.
func (v *views) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if run.Settling() && v.began < 0 {
		v.began = run.Now()
	}
	switch e.Type {
	case EventUp:
		v.sees[e.Node] = trace.NodesOf(e.Node)
	case EventJoin:
		v.sees[e.Node] = v.sees[e.Node].With(number(e.Value))
	case EventLeave:
		v.sees[e.Node] = v.sees[e.Node].Without(number(e.Value))
	}
	return nil
}

func number(name any) (n lockstep.Node) {
	_, _ = fmt.Sscanf(fmt.Sprint(name), "node%d", &n)
	return n
}

// End checks the views.
func (v *views) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || v.began < 0 || time.Duration(run.Now()-v.began) < timeout {
		return nil
	}
	v.checked++
	for n := range run.Up().All() {
		if v.sees[n] != run.Up() {
			return &lockstep.Finding{
				Nodes: trace.NodesOf(n),
				Text: fmt.Sprintf("%v after the last fault node %d sees %v; up are %v",
					time.Duration(run.Now()-v.began).Round(time.Second), n, v.sees[n], run.Up()),
			}
		}
	}
	return nil
}
