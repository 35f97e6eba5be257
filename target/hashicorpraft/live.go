package hashicorpraft

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
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

// Live is bounded liveness: at the end of the settling stage there is a leader. Stable: when
// the stage has lasted for 20 seconds of virtual time, there is at most one further election.
// Both are judged only where the stage lasts for 40.
var (
	Live   = lockstep.Spec(live("liveness"))
	Stable = lockstep.Spec(live("stability"))
)

// NoGhosts: a node that has ceased to be leader stops sending heartbeats, at the latest after
// 20 seconds of virtual time. It needs no settling stage. Everything does not include it: the
// library breaks it when pipelines are in use.
var NoGhosts = lockstep.Spec(noGhosts{})

type noGhosts struct{}

// Properties names what is judged.
func (noGhosts) Properties() []string { return []string{"no-ghosts"} }

// New makes a monitor.
func (noGhosts) New(i lockstep.Info) lockstep.Monitor {
	return &ghosts{since: make([]lockstep.Time, i.Nodes+1)}
}

// ghosts remembers since when each node is no leader; -1: it is one.
type ghosts struct {
	since  []lockstep.Time
	judged [1]int
}

// Reset begins a new run.
func (m *ghosts) Reset() {
	clear(m.since)
	m.judged[0] = 0
}

// Step looks at what was sent.
func (m *ghosts) Step(run *lockstep.Run) *lockstep.Finding {
	for _, e := range run.Events() {
		switch e.Type {
		case BecameLeader:
			m.since[e.Node] = -1
		case BecameFollower, BecameCandidate, EventRestart:
			m.since[e.Node] = run.Now()
		}
	}
	for _, s := range run.Sent() {
		if s.Type != "Heartbeat" {
			continue
		}
		m.judged[0]++
		if since := m.since[s.From]; since >= 0 && time.Duration(run.Now()-since) > patience {
			return &lockstep.Finding{Property: "no-ghosts", Nodes: trace.NodesOf(s.From, s.To),
				Text: fmt.Sprintf("node %d sends heartbeats to node %d, but has not been leader for %v", s.From, s.To, time.Duration(run.Now()-since))}
		}
	}
	return nil
}

// End has nothing to add.
func (m *ghosts) End(*lockstep.Run) *lockstep.Finding { return nil }

// Conclude counts the judgements.
func (m *ghosts) Conclude(bool) lockstep.Conclusion { return lockstep.Conclusion{Judged: m.judged[:]} }

type live string

// Properties names what is judged.
func (l live) Properties() []string { return []string{string(l)} }

// New makes a monitor.
func (l live) New(i lockstep.Info) lockstep.Monitor {
	return &liveness{property: string(l), leader: make([]bool, i.Nodes+1)}
}

// liveness follows who leads, and counts elections late in the settling stage.
type liveness struct {
	property  string
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
	switch {
	case m.property == "liveness" && !slices.Contains(m.leader, true):
		return &lockstep.Finding{Property: m.property, Text: "after settling there is no leader"}
	case m.property == "stability" && m.elections > 1:
		return &lockstep.Finding{Property: m.property, Text: fmt.Sprintf("long after the last fault there were %d elections", m.elections)}
	}
	return nil
}

// Conclude counts the judgements.
func (m *liveness) Conclude(bool) lockstep.Conclusion {
	return lockstep.Conclusion{Judged: m.judged[:]}
}

// Everything is all specs of this package.
var Everything = spec.All(Safety, Linearizability, Live, Stable)
