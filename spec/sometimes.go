package spec

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Sometimes is a spec of something that must happen at least once in a campaign, though not in every run. The function
// reports whether it happens in the last step of a run. No run violates the spec. If it never happened, the campaign
// has the problem [lockstep.ProblemUnreached], as with a property that was never checked. The name says what happens,
// e.g. "a leader crashed while it sent a snapshot".
func Sometimes(name string, happens func(*lockstep.Run) bool) lockstep.Spec {
	return sometimes{name: name, happens: happens}
}

// SometimesEvent is [Sometimes] for an event of one of the types.
func SometimesEvent(name string, types ...string) lockstep.Spec {
	return sometimes{name: name, events: true, happens: func(run *lockstep.Run) bool {
		return slices.ContainsFunc(run.Events(), func(e lockstep.Event) bool { return slices.Contains(types, e.Type) })
	}}
}

// SometimesStep is [Sometimes] for a step of this kind. With a role, the step must hit a node that played the role
// before the step. A step on a message hits the receiver. A cut or a heal hits the nodes of its smaller side, in one
// direction or both. If both sides have the same size, it hits those of the second ([trace.Step].To). Any other step
// hits its node.
func SometimesStep(name string, kind trace.Kind, role string) lockstep.Spec {
	return stepGoal{sometimes{name: name}, kind, role}
}

type stepGoal struct {
	sometimes
	kind trace.Kind
	role string
}

// New makes a monitor, which remembers which nodes had the role before the step.
func (s stepGoal) New(lockstep.Info) lockstep.Monitor {
	var before lockstep.Nodes
	s.happens = func(run *lockstep.Run) bool {
		last, played := run.Last(), before
		if s.role != "" {
			before = run.Playing(s.role)
		}
		return last.Kind == s.kind && (s.role == "" || played&hit(run, last) != 0)
	}
	return &sometimesMonitor{sometimes: s.sometimes}
}

// hit lists the nodes that a step is about.
func hit(run *lockstep.Run, s *lockstep.Step) lockstep.Nodes {
	switch s.Kind {
	case trace.Deliver, trace.Drop, trace.Duplicate, trace.Replace:
		return lockstep.Nodes(0).With(run.Message(s.Msg).To)
	case trace.Cut, trace.Heal:
		if s.From.Len() < s.To.Len() {
			return s.From
		}
		return s.To
	default:
		return lockstep.Nodes(0).With(s.Node)
	}
}

type sometimes struct {
	name    string
	events  bool // happens looks at nothing but events
	happens func(*lockstep.Run) bool
}

// Properties names what must happen.
func (s sometimes) Properties() []string { return []string{s.name} }

// Counts says that the property is one that must happen sometimes.
func (s sometimes) Counts(lockstep.Info) []lockstep.Count {
	return []lockstep.Count{{Name: s.name, Sometimes: true}}
}

// New makes a monitor.
func (s sometimes) New(lockstep.Info) lockstep.Monitor { return &sometimesMonitor{sometimes: s} }

type sometimesMonitor struct {
	sometimes
	happened [1]int
}

// Reset begins a new run.
func (s *sometimesMonitor) Reset() { s.happened[0] = 0 }

// EventsOnly reports whether only events matter.
func (s *sometimesMonitor) EventsOnly() bool { return s.events }

// Step counts whether it happens.
func (s *sometimesMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	if s.happens(run) {
		s.happened[0]++
	}
	return nil
}

// End returns nil: nothing can be violated.
func (*sometimesMonitor) End(*lockstep.Run) *lockstep.Finding { return nil }

// Conclude reports how often it happened.
func (s *sometimesMonitor) Conclude(bool) lockstep.Conclusion {
	return lockstep.Conclusion{Checked: s.happened[:]}
}
