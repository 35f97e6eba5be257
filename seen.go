package lockstep

import "fmt"

// Seen is what a strategy saw of the runs that its guarantee depends on: the largest
// numbers of all runs.
type Seen struct {
	Events int // things that happened or could have happened in a run
	Width  int // of the partial order of these events
}

// Witness is a Scheduler that measures the runs it makes.
type Witness interface {
	Scheduler
	// Seen measures the run last made.
	Seen() Seen
}

// Empirical is a Strategy whose guarantee depends on what its runs turned out to be.
type Empirical interface {
	Strategy
	// GuaranteeSeen is the guarantee for a campaign with such runs.
	GuaranteeSeen(Info, Seen) Guarantee
}

// Learner is a Strategy that can choose parameters from a few runs without faults before
// the campaign starts. They do not depend on the campaign's seed.
type Learner interface {
	Strategy
	// Probe is the strategy that makes those runs, or nil when nothing is to be learned.
	Probe() Strategy
	// Learn returns the strategy with the parameters that the runs suggest. The scheduler
	// is the one that made all of them.
	Learn(probe Scheduler) Strategy
}

// probes is the number of runs that a Learner learns from.
const probes = 8

// learn completes the strategy of a plan that has passed its check.
func (p Plan) learn(info Info) (Strategy, error) {
	l, ok := p.Strategy.(Learner)
	if !ok {
		return p.Strategy, nil
	}
	probe := l.Probe()
	if probe == nil {
		return p.Strategy, nil
	}
	p.Strategy, p.Scenario, p.Spec, p.Seed, p.Settle = probe, nil, nothing{}, 0, 0
	w := newWorker(p, info)
	for number := range probes {
		if _, err := w.one(number); err != nil {
			return nil, fmt.Errorf("%s: a run to learn from failed: %w", l, err)
		}
	}
	learned := l.Learn(w.sched)
	if err := w.close(); err != nil {
		return nil, err
	}
	return learned, learned.Check(info)
}

func (s *Seen) add(t Seen) {
	s.Events, s.Width = max(s.Events, t.Events), max(s.Width, t.Width)
}

// IsHeld reports whether a message is in flight but in the hands of the scenario.
func (r *Run) IsHeld(id ID) bool { return r.exists(id) && r.status[id-1] == held }

// Fingerprint is the fingerprint of a node's state, and whether the system offers one.
// A deployment that offers fingerprints only in some configurations says so with a
// method Fingerprints() bool.
func (r *Run) Fingerprint(n Node) (uint64, bool) {
	f, ok := r.system.(Fingerprinter)
	if !ok {
		return 0, false
	}
	if some, ok := r.system.(interface{ Fingerprints() bool }); ok && !some.Fingerprints() {
		return 0, false
	}
	return f.Fingerprint(n), true
}
