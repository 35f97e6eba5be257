package raftspec

import (
	"fmt"
	"math/bits"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Property is a set of properties, and a [lockstep.Spec]. The first five are those of
// Figure 3 of "In Search of an Understandable Consensus Algorithm" (Ongaro, Ousterhout; ATC
// 2014); each is checked whenever it could become false, at a price that does not grow with
// the log.
type Property uint16

// The properties.
const (
	// ElectionSafety: at most one leader is elected in a term.
	ElectionSafety Property = 1 << iota
	// LeaderAppendOnly: a leader never overwrites or deletes entries of its log.
	LeaderAppendOnly
	// LogMatching: two logs that have an entry with the same index and term are the same up
	// to it.
	LogMatching
	// LeaderCompleteness: an entry committed in a term is in the log of every leader of a
	// later term.
	LeaderCompleteness
	// StateMachineSafety: no two nodes apply different entries at the same index, every
	// node applies its entries in order, once, and has the same state after them.
	StateMachineSafety
	// Durability: an acknowledged write is not lost. When it is acknowledged,
	// the write is on the disks of a majority, as long as no node asks for other members;
	// every leader of a later term has it; and after a settling stage that was long enough
	// for Liveness to be checked, if there is a leader, a majority of the voters has applied
	// it. Inputs of calls that have a method Writes() bool and say no are no writes. The
	// first and the last need a View.
	Durability
	// LogAgreement: after a settling stage every member has the leader's log, entry for
	// entry, no more and no less. That all servers eventually store all entries is property
	// P2 of "Testing Consensus Implementations using Communication Closure" (Drăgoi, Enea,
	// Özkan, Majumdar, Niksic; OOPSLA 2020). It is checked where Liveness is, if meanwhile no
	// log has changed for some time: what was asked for at the last moment is not everywhere
	// yet. It needs a View.
	LogAgreement
	// Liveness is bounded: after a settling stage, in which faults stop and delivery is fair,
	// there is a leader that a quorum follows, and every request of a client is answered. It
	// is checked only where every member had many ticks without a fault before the end, so that
	// a stage that is too short for an election is not held against the system; nor is a
	// cluster of which removals have left fewer than three voters: if only one of two knows of
	// a removal, the other may campaign indefinitely among those that were removed. It needs a
	// View.
	Liveness
	// VotersCampaign: a node that has applied a configuration in which it is no voter does not campaign. It is for
	// systems in which a configuration holds from when a node applies it, like etcd's raft.
	VotersCampaign
	// VotersCommit: what a leader commits is in the logs of a majority of the voters, of both configurations if its own
	// is joint. Learners do not count. It is for the same systems.
	VotersCommit

	count = iota
)

// Safety is the five properties of the paper, and Everything all but Membership.
const (
	Safety     = ElectionSafety | LeaderAppendOnly | LogMatching | LeaderCompleteness | StateMachineSafety
	Everything = Safety | Durability | LogAgreement | Liveness
	// Membership is the properties of configurations.
	Membership = VotersCampaign | VotersCommit
)

var names = [count]string{"election-safety", "leader-append-only", "log-matching", "leader-completeness",
	"state-machine-safety", "durability", "log-agreement", "liveness", "voters-campaign", "voters-commit"}

// Properties names what is checked.
func (p Property) Properties() []string {
	var list []string
	for i, name := range names {
		if p&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// New makes a monitor.
func (p Property) New(i lockstep.Info) lockstep.Monitor { return &monitor{what: p, size: i.Nodes} }

// Within is Liveness within a number of ticks.
type Within int

// Properties names what is checked.
func (Within) Properties() []string { return Liveness.Properties() }

// New makes a monitor.
func (w Within) New(i lockstep.Info) lockstep.Monitor {
	return &monitor{what: Liveness, size: i.Nodes, ticks: int(w)}
}

// monitor keeps the state of a run and checks by it.
type monitor struct {
	what  Property
	size  int
	ticks int
	state state

	elections    elections
	matching     matching
	completeness completeness
	writes       writes
	grew         trace.Time // when a log last changed

	checked [count]int
	list    []int
	found   *lockstep.Finding // in this step, of the first of the properties
	first   Property
}

// Reset begins a new run.
func (m *monitor) Reset() {
	m.state.reset(m.size)
	m.elections.reset()
	m.matching.reset()
	m.completeness.reset()
	m.writes.reset()
	m.grew, m.checked, m.found, m.first = 0, [count]int{}, nil, 0
}

// EventsOnly says that events are all that is looked at.
func (m *monitor) EventsOnly() bool { return true }

// Step checks the events of a step. Where several properties are violated, the first of
// them is reported.
func (m *monitor) Step(run *lockstep.Run) *lockstep.Finding {
	events := run.Events()
	for i := range events {
		m.event(run, &events[i])
	}
	return m.found
}

// check counts a check.
func (m *monitor) countCheck(p Property) { m.checked[bits.TrailingZeros16(uint16(p))]++ }

// fail takes note of a violation.
func (m *monitor) fail(p Property, nodes lockstep.Nodes, format string, args ...any) {
	if m.what&p != 0 && (m.found == nil || p < m.first) {
		m.first = p
		m.found = &lockstep.Finding{Property: p.Properties()[0], Nodes: nodes, Text: fmt.Sprintf(format, args...)}
	}
}

// event checks an event and writes it down.
func (m *monitor) event(run *lockstep.Run, e *lockstep.Event) {
	n := &m.state.nodes[e.Node]
	switch v := e.Value.(type) {
	case *Role:
		n.role, n.term = e.Type, v.Term
		m.campaigns(e.Node, n)
		if e.Type == BecameLeader {
			m.grew = run.Now()
			m.elected(e.Node, n)
		}
	case *Appended:
		m.grew = run.Now()
		m.appended(e.Node, n, v)
	case *Committed:
		m.committed(e.Node, n, v)
	case *Applied:
		m.applied(e.Node, n, v)
	case *Installed:
		m.grew = run.Now()
		m.state.installed(n, v)
		m.snapshot(e.Node, n, v)
	case *Restarted:
		m.grew = run.Now()
		m.state.restarted(n, v, run.Steps() == 0)
		if v.Applied > 0 && run.Steps() > 0 {
			m.stateAt(e.Node, v.Applied, v.State)
		}
	case *spec.Call:
		m.writes.called(v)
	case *spec.Return:
		m.answered(run, e.Node, n, v)
	default:
		m.state.asked = m.state.asked || e.Type == EventMembers
	}
}

// Conclude counts the checks.
func (m *monitor) Conclude(bool) lockstep.Conclusion {
	m.list = m.list[:0]
	for i, k := range m.checked {
		if m.what&(1<<i) != 0 {
			m.list = append(m.list, k)
		}
	}
	return lockstep.Conclusion{Checked: m.list}
}
