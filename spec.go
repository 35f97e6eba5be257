package lockstep

import "github.com/lockstep-go/lockstep/trace"

// Spec is what a system promises. It is an immutable value. Package spec makes most of
// them from less.
type Spec interface {
	// Properties names what the spec judges.
	Properties() []string
	// New makes a monitor, which serves many runs of one worker.
	New(Info) Monitor
}

// ConditionalSpec is a spec with properties that not every system puts to the test, such as one about watches where no
// client watches.
type ConditionalSpec interface {
	Spec
	// Optional says of each property, in the order of Properties, that nothing is wrong where no run checks it.
	Optional(Info) []bool
}

// Monitor judges one run after the other. The finding it returns ends the run; the engine
// copies it, so that a monitor may return the same one again.
type Monitor interface {
	// Reset begins a new run.
	Reset()
	// EventsOnly reports whether Step looks at nothing but the events of the step. Then Step is
	// called only after steps that had events. The engine asks once, when it has made the monitor.
	EventsOnly() bool
	// Step checks safety after every step: run.Events holds what happened in the step,
	// run.View what the deployment shows of itself.
	Step(run *Run) *Finding
	// End judges the final state. After a settling stage run.Settled is true and
	// bounded liveness may be judged too.
	End(run *Run) *Finding
	// Conclude sums up the run just ended. Pictures are wanted only where draw is true: the
	// run failed and was recorded.
	Conclude(draw bool) Conclusion
}

// Conclusion is what a monitor says of a run beside its finding. The zero value says
// nothing.
type Conclusion struct {
	// Judged is how often each property could have failed, in the order of the spec's
	// Properties, so that a campaign can tell one that held from one that was never put to
	// the test. NotCounted, or a list that is too short, means that nobody counted. It is
	// valid until the next run.
	Judged []int
	// Undecided is why the run could not be judged, because a limit of the monitor's own was
	// reached. Such a run has the verdict unknown: it did not pass.
	Undecided string
	// Pictures draw what was found.
	Pictures []trace.Picture
}

// nothing is the spec of a plan without one: only a panic is a finding.
type nothing struct{}

func (nothing) Properties() []string     { return nil }
func (nothing) New(Info) Monitor         { return nothing{} }
func (nothing) Reset()                   {}
func (nothing) EventsOnly() bool         { return true }
func (nothing) Step(*Run) *Finding       { return nil }
func (nothing) End(*Run) *Finding        { return nil }
func (nothing) Conclude(bool) Conclusion { return Conclusion{} }
