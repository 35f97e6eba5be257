package lockstep

import "github.com/lockstep-go/lockstep/trace"

// The vocabulary of a run. It belongs to package trace, so that tools which only read traces need no other package.
type (
	// Node is the number of a node of the system under test, from 1.
	Node = trace.Node
	// Nodes is a set of nodes.
	Nodes = trace.Nodes
	// Step is one choice of a run, e.g. to deliver a message or to crash a node.
	Step = trace.Step
	// Event is something observable that happened at a node, e.g. that it became leader. A system reports events, and
	// specs check them.
	Event = trace.Event
	// Finding is a violated property, and how it was violated.
	Finding = trace.Finding
)
