package lockstep

import "github.com/lockstep-go/lockstep/trace"

// The vocabulary of a run. It belongs to package trace, so that tools which only read traces need no other package.
type (
	// Node is a process under test, numbered from 1.
	Node = trace.Node
	// Nodes is a set of nodes.
	Nodes = trace.Nodes
	// Step is one choice of a run.
	Step = trace.Step
	// Event is something observable that happened at a node.
	Event = trace.Event
	// Finding is a violated property.
	Finding = trace.Finding
)
