package lockstep

import "math/rand/v2"

// Scenario guides a run: it sees what every step caused before the strategy does and
// takes over what it has an opinion on. What it leaves alone is the strategy's.
// It is an immutable value.
type Scenario interface {
	// Name is the scenario's name in traces and reports.
	Name() string
	// Check reports what is wrong with the scenario for such a system.
	Check(Info) error
	// New makes a director, which serves many runs of one worker.
	New(Info) Director
}

// Director carries out a scenario in one run after the other.
type Director interface {
	// Reset begins a new run. The source is the run's own and may be kept until the
	// next Reset.
	Reset(*rand.Rand)
	// Look is called after the start of a run and after every step. It sees the step
	// (run.Last), the messages it sent (run.Sent) and its events (run.Events), and acts
	// through the hand.
	Look(run *Run, hand *Hand)
	// Counts tells how often each part of the scenario took effect since Reset, always
	// in the same order. A run in which all are zero is vacuous.
	Counts() []Count
}

// Count is how often a named part of a scenario took effect.
type Count struct {
	Name string
	N    int
}

// Hand is what a director acts with. In a replay its steps have been recorded and are
// taken from the trace: there the director still judges, but moves nothing.
type Hand struct {
	run  *Run
	mute bool
}

// Hold takes a message in flight away from the strategy until it is released, or
// delivered or dropped by Do.
func (h *Hand) Hold(id ID) {
	r := h.run
	if !h.mute && r.status[id-1] == inFlight {
		r.unfly(id)
		r.status[id-1] = held
	}
}

// Release gives a held message back to the strategy.
func (h *Hand) Release(id ID) {
	r := h.run
	if !h.mute && r.status[id-1] == held {
		r.fly(id)
	}
}

// Do queues a step that is taken before the strategy is asked again.
func (h *Hand) Do(s Step) {
	if !h.mute {
		h.run.queue = append(h.run.queue, s)
	}
}

// Fail ends the run with a finding.
func (h *Hand) Fail(f Finding) {
	if h.run.finding == nil {
		h.run.finding = &f
	}
}

// Finish ends the run: what the scenario was for has happened.
func (h *Hand) Finish() { h.run.finished = true }
