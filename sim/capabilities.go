package sim

// Capabilities are optional functions of a program beyond the methods of a [Node]. A nil field means that the program
// lacks the capability. They are fields, and not methods found by name, so that the compiler detects a misspelled one.
type Capabilities[M any] struct {
	// Reset returns the program to its initial state. With it, the cluster keeps the program after a crash and for the
	// next run, instead of calling New again. If Stop is set, too, it is called before.
	Reset func()
	// Stop ends the current incarnation of the program: the cluster calls it at a crash, before the next run, and when
	// it is closed. It releases what the program holds, such as goroutines or files.
	Stop func()
	// Timer is called when a named timer fires; if it is nil, Timeout is called.
	Timer func(c *Context[M], name string)
	// Fingerprint returns a hash of the program's state.
	Fingerprint func() uint64
	// State returns a short description of the program's state.
	State func() string
	// Role names the role of the program, or several separated by spaces; see Cluster.Roles.
	Role func() string
}

// With returns the program with its capabilities, for the New of a [Cluster]:
//
//	n := &node{self: self}
//	return sim.With(n, sim.Capabilities[message]{Reset: n.Reset, State: n.String})
func With[M any](n Node[M], c Capabilities[M]) Node[M] {
	if _, ok := n.(*capable[M]); ok {
		panic("sim: With of a program that has its capabilities by another With, or by Blocking: state them once")
	}
	return &capable[M]{n, c}
}

// capable carries a program and its capabilities from New to its context.
type capable[M any] struct {
	Node[M]
	can Capabilities[M]
}
