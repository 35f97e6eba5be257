package lockstep

import "github.com/lockstep-go/lockstep/trace"

// Undecider is a Monitor that may be unable to judge a run, because a limit of its own
// was reached. Such a run has the verdict unknown: it did not pass.
type Undecider interface {
	Monitor
	// Undecided is why the run just ended could not be judged, or empty.
	Undecided() string
}

// Illustrator is a Monitor that can draw what it found.
type Illustrator interface {
	Monitor
	// Illustrate draws the finding of the run just ended. It is asked only when the run
	// was recorded and failed.
	Illustrate() []trace.Picture
}

// undecided asks the monitor at the end of a run without a finding.
func (w *worker) undecided() string {
	if u, ok := w.monitor.(Undecider); ok {
		return u.Undecided()
	}
	return ""
}

// illustrate adds the monitor's pictures to the trace of a failing run.
func (w *worker) illustrate(t *trace.Trace) {
	if i, ok := w.monitor.(Illustrator); ok && t.Outcome.Finding != nil {
		t.Pictures = i.Illustrate()
	}
}
