package memberlist

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// The types of event: a node has come up; it looks whom it misses; it sees a member come or go,
// whose name is the value.
const (
	EventUp    = "up"
	EventLook  = "look"
	EventJoin  = "join"
	EventLeave = "leave"
)

// patience is the time without faults after which all must agree, in virtual time: suspicions
// last for some seconds, and those who were missed are called every few.
const patience = 2 * time.Minute

// Converges: some time after the last fault every node that is up sees exactly those that are
// up. It is judged at the end of a settling stage that lasts for two minutes of virtual time.
var Converges = spec.New("convergence", func(i lockstep.Info) *views { return &views{nodes: i.Nodes} })

// Target is the library on the command line of a program built with the overlay.
var Target = target.Of("memberlist", "hashicorp/memberlist, unmodified, over UDP and TCP in memory", Cluster{}, Converges).Settled(Settle)

// Settle is the length of a settling stage in which convergence is judged, for five nodes.
const Settle = 12_000

// views follows what nodes see.
type views struct {
	nodes  int
	sees   [64]lockstep.Nodes // by node
	began  trace.Time
	judged int
}

// Reset begins a new run.
func (v *views) Reset() { v.sees, v.began, v.judged = [64]lockstep.Nodes{}, -1, 0 }

// Judged counts the judgements.
func (v *views) Judged() int { return v.judged }

// Event takes a change down.
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

// End judges.
func (v *views) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || v.began < 0 || time.Duration(run.Now()-v.began) < patience {
		return nil
	}
	v.judged++
	for n := range run.Up().All() {
		if v.sees[n] != run.Up() {
			return &lockstep.Finding{Nodes: trace.NodesOf(n), Text: fmt.Sprintf("%v after the last fault node %d sees %v; up are %v",
				time.Duration(run.Now()-v.began).Round(time.Second), n, v.sees[n], run.Up())}
		}
	}
	return nil
}
