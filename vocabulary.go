package lockstep

import "github.com/lockstep-go/lockstep/trace"

// The vocabulary of a run. It belongs to package trace, so that tools which only read
// traces need nothing else.
type (
	// Node is a process under test, numbered from 1.
	Node = trace.Node
	// Draw is a number that a system drew itself.
	Draw = trace.Draw
	// Nodes is a set of nodes.
	Nodes = trace.Nodes
	// ID numbers the messages of a run in the order of sending.
	ID = trace.ID
	// Tag is the phase and the round of a message.
	Tag = trace.Tag
	// Time is the time of a run, as a rule virtual.
	Time = trace.Time
	// Kind says what a step does.
	Kind = trace.Kind
	// Kinds is a set of kinds of step.
	Kinds = trace.Kinds
	// Step is one choice of a run.
	Step = trace.Step
	// Message is the envelope of a message.
	Message = trace.Message
	// Event is something observable that happened at a node.
	Event = trace.Event
	// Pending is a client's request that waits to be given to a node.
	Pending = trace.Pending
	// Finding is a violated property.
	Finding = trace.Finding
	// Verdict is the judgement on a run.
	Verdict = trace.Verdict
)
