package lockstep

import "github.com/lockstep-go/lockstep/trace"

// Spec states the promises of a system. It is an immutable value. Package spec makes most specs from less.
type Spec interface {
	// Properties names the properties that the spec checks.
	Properties() []string
	// New makes a monitor, which serves many runs of one worker.
	New(Info) Monitor
}

// ConditionalSpec is a spec with properties that may stay unchecked in a campaign, or that must be observed at least
// once in it.
type ConditionalSpec interface {
	Spec
	// Counts returns a count for each property, in the order of Properties, with Optional and Sometimes set. Optional
	// marks a property that a campaign may leave unchecked in all runs. An example is one about watches, where clients
	// need not watch. Sometimes marks something that must happen at least once in a campaign, though not in every run.
	// It never fails a run: in the place of checks, the monitor counts how often it happened.
	Counts(Info) []Count
}

// Monitor checks one run after the other. The finding that it returns ends the run; the engine copies it, so that a
// monitor may return the same one again.
type Monitor interface {
	// Reset begins a new run.
	Reset()
	// EventsOnly reports whether Step looks at nothing but the events of the step. If so, Step is called only after
	// steps with events. The engine asks once for each monitor.
	EventsOnly() bool
	// Step checks safety after every step. The method run.Events lists the events of the step, and run.View is the
	// value through which the deployment shows its nodes.
	Step(run *Run) *Finding
	// End checks the final state. After a settling stage, run.Settled is true and End may check bounded liveness too.
	End(run *Run) *Finding
	// Conclude sums up the run just ended. With draw, which means that the run failed and was recorded, the conclusion
	// should include pictures.
	Conclude(draw bool) Conclusion
}

// Conclusion is a monitor's summary of a run, beside its finding: what it checked. The zero value says nothing.
type Conclusion struct {
	// Checked is how often each property could have failed, in the order of the spec's Properties. With it, a campaign
	// distinguishes a property that held from one that was never exercised. NotCounted, or a list that is too short,
	// means that the monitor does not count. It is valid until the next run.
	Checked []int
	// Undecided is why the run could not be checked, because the monitor reached a limit of its own. Such a run has
	// the verdict unknown: it did not pass.
	Undecided string
	// Pictures draw the finding.
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
