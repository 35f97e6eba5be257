package lockstep

// Spec is what a system promises. It is an immutable value.
type Spec interface {
	// Properties names what the spec judges.
	Properties() []string
	// New makes a monitor, which serves many runs of one worker.
	New(Info) Monitor
}

// Monitor judges one run after the other. The finding it returns ends the run.
type Monitor interface {
	// Reset begins a new run.
	Reset()
	// Step judges safety after every step: run.Events holds what the step let the
	// outside see, run.Deployment the system itself.
	Step(run *Run) *Finding
	// End judges the final state. After a settling stage run.Settled is true and
	// bounded liveness may be judged too.
	End(run *Run) *Finding
}

// Judge is a Monitor that counts how often it could have failed, so that a campaign
// can tell a property that held from one that was never put to the test.
type Judge interface {
	Monitor
	// Judged is the number of judgements since Reset, in the order of the spec's
	// Properties. It is valid until the next call.
	Judged() []int
}

// nothing is the spec of a plan without one: only a panic is a finding.
type nothing struct{}

func (nothing) Properties() []string { return nil }
func (nothing) New(Info) Monitor     { return nothing{} }
func (nothing) Reset()               {}
func (nothing) Step(*Run) *Finding   { return nil }
func (nothing) End(*Run) *Finding    { return nil }
