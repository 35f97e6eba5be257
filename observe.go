package lockstep

// Observer watches the runs of a campaign without judging them, e.g. to measure what they
// covered. It is part of a [Plan].
type Observer interface {
	// Watch makes a watcher, which serves many runs of one worker.
	Watch(Info) Watcher
	// Take gets what was noted in each run of the result, in run order and one after the
	// other, however many workers there are.
	Take(run int, noted any)
}

// Watcher looks at one run after the other.
type Watcher interface {
	// Reset begins a new run.
	Reset()
	// Step is called after the start of a run and after every step of its exploring stage.
	Step(run *Run)
	// Noted is what the run leaves for the observer. It must not change with the next run.
	Noted() any
}

// Given is the text of the request last given to a node.
func (r *Run) Given() string { return r.given }
