package hashicorpraft

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// Linearizability: the clients' operations on the replicated map are linearizable, key by
// key.
var Linearizability = spec.Linearizable{Model: porcupine.Model{
	Partition: byKey,
	Init:      func() any { return 0 },
	Step:      step,
}}

// byKey splits a history by keys, which do not influence each other.
func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	var by [10][]porcupine.Operation
	for _, o := range history {
		k := o.Input.(*Op).Key
		by[k] = append(by[k], o)
	}
	var parts [][]porcupine.Operation
	for _, p := range by {
		if len(p) > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// step is the register: what an operation does to it and whether the answer is right.
func step(is, input, output any) (bool, any) {
	v, o := is.(int), *input.(*Op)
	o.Key = 0
	s := state{Values: [10]int{v}}
	result := s.execute(o)
	if r, answered := output.(*Result); answered && *r != result {
		return false, is
	}
	return true, s.Values[0]
}

// patience is the time without faults after which there must be a leader that stays, in
// virtual time: many election time-outs.
const patience = 20 * time.Second

// Live is bounded liveness: when the settling stage has lasted for 20 seconds of virtual
// time, there is a leader, and no further election; it is judged only where the stage lasts
// for 40.
var Live = lockstep.Spec(live{})

type live struct{}

// Properties names what is judged.
func (live) Properties() []string { return []string{"liveness"} }

// New makes a monitor.
func (live) New(i lockstep.Info) lockstep.Monitor { return &liveness{leader: make([]bool, i.Nodes+1)} }

// liveness follows who leads, and counts elections late in the settling stage.
type liveness struct {
	leader    []bool // by node
	began     lockstep.Time
	elections int
	judged    [1]int
}

// Reset begins a new run.
func (m *liveness) Reset() {
	clear(m.leader)
	m.began, m.elections, m.judged = -1, 0, [1]int{}
}

// Step counts.
func (m *liveness) Step(run *lockstep.Run) *lockstep.Finding {
	if run.Settling() && m.began < 0 {
		m.began = run.Now()
	}
	for _, e := range run.Events() {
		switch e.Type {
		case BecameLeader, BecameFollower, BecameCandidate:
			m.leader[e.Node] = e.Type == BecameLeader
			if m.leader[e.Node] && m.began >= 0 && time.Duration(run.Now()-m.began) > patience {
				m.elections++
			}
		case EventRestart:
			m.leader[e.Node] = false
		}
	}
	return nil
}

// End judges the end of a run.
func (m *liveness) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || m.began < 0 || time.Duration(run.Now()-m.began) < 2*patience {
		return nil
	}
	m.judged[0]++
	leads := false
	for _, is := range m.leader {
		leads = leads || is
	}
	switch {
	case !leads:
		return &lockstep.Finding{Property: "liveness", Text: "after settling there is no leader"}
	case m.elections > 1:
		return &lockstep.Finding{Property: "liveness", Text: "long after the last fault there are still elections"}
	}
	return nil
}

// Conclude counts the judgements.
func (m *liveness) Conclude(bool) lockstep.Conclusion {
	return lockstep.Conclusion{Judged: m.judged[:]}
}

// Everything is all specs of this package.
var Everything = spec.All(Safety, Linearizability, Live)
