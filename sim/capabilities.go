package sim

// Capabilities are what a program can do beyond the methods of a [Node]. One that is nil it cannot. They are fields and
// not methods found by their names, so that the compiler finds a misspelt one.
type Capabilities[M any] struct {
	// Reset makes the program as new: it is used again after a crash and in the next run instead of being built again.
	Reset func()
	// Stop releases what the program holds, when a crash, the end of a run or the end of the campaign ends it.
	Stop func()
	// Timer is called when a timer fires that was set by name; nil: Alarm is.
	Timer func(c *Context[M], name string)
	// Fingerprint hashes the program's state.
	Fingerprint func() uint64
	// State describes the program's state in a few words.
	State func() string
	// Role names the part that the program plays, or several with spaces in between; see Cluster.Roles.
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

// capable is a program on its way from New to its context.
type capable[M any] struct {
	Node[M]
	can Capabilities[M]
}
