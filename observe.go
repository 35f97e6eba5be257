package lockstep

import "fmt"

// Observer measures the runs of a campaign without checking them, e.g. what they cover. It is part of a [Plan].
type Observer interface {
	// New makes a watcher, which serves many runs of one worker.
	New(Info) Watcher
	// Collect receives what a watcher noted in a run of the result (Watcher.Noted). It is called in run order and
	// sequentially, for any number of workers.
	Collect(run int, noted any)
}

// Watcher measures one run after the other, for its [Observer].
type Watcher interface {
	// Reset begins a new run.
	Reset()
	// Observe is called after the start of a run and after every step, before the scenario and the spec see it. In the
	// settling stage, run.Settling reports true.
	Observe(run *Run)
	// Noted returns what the watcher measured in the run, for Collect of its observer. The value must not change with
	// the next run.
	Noted() any
}

// FeatureSource is a [Watcher] or a [Monitor] that offers what a run reached to strategies that learn from it, as
// features: numbers that stand for something a run can reach, such as a statement of the system or a state of a model.
type FeatureSource interface {
	// Features returns the features of the given kind that the run just made has reached, each once. Their order is the
	// same when the run is repeated. The result is valid until the next run. Features reports false if the source does
	// not offer the kind; this may be asked before the first run, too.
	Features(kind string) ([]uint64, bool)
}

// The kinds of features that Lockstep knows.
const (
	// CodeFeatures are statements of the system that the run executed, with how often it did (package coverage/code).
	CodeFeatures = "code"
	// ModelFeatures are states and rules of a model that a spec follows beside the system (package distal/conform).
	ModelFeatures = "model"
)

// sourceOf returns the first watcher or the monitor that offers a kind of features; nil if none does.
func sourceOf(kind string, watchers []Watcher, m Monitor) FeatureSource {
	for _, w := range watchers {
		if s, ok := w.(FeatureSource); ok && offers(s, kind) {
			return s
		}
	}
	if s, ok := m.(FeatureSource); ok && offers(s, kind) {
		return s
	}
	return nil
}

func offers(s FeatureSource, kind string) bool {
	_, ok := s.Features(kind)
	return ok
}

// checkFeatures reports that nothing offers the features from which the strategy learns.
func (p *prepared) checkFeatures() error {
	kind := p.terms.Features
	if kind == "" {
		return nil
	}
	var watchers []Watcher
	for _, o := range p.Observers {
		watchers = append(watchers, o.New(p.info))
	}
	if sourceOf(kind, watchers, p.Spec.New(p.info)) != nil {
		return nil
	}
	return fmt.Errorf("lockstep: %s learns from features of the kind %q, which no observer and not the spec of the plan "+
		"offers", p.Strategy, kind)
}

// sampledWatcher is a watcher that observes only some runs.
type sampledWatcher interface {
	Watcher
	// observes reports whether the watcher observes the numbered run.
	observes(run int) bool
}

// Looking at every state takes a multiple of a fast system's own time. So states are counted in the first runs and
// then in one of many.
const (
	firstCounted = 8
	oneOfCounted = 256
)

// countsStates reports whether the states of the numbered run are counted.
func countsStates(number int) bool { return number < firstCounted || number%oneOfCounted == 0 }

// distinct is the observer that counts the distinct schedules of a campaign, and the distinct states of some of its
// runs. It is the last observer.
type distinct struct {
	counted   int // runs whose states were counted
	schedules map[uint64]struct{}
	states    map[uint64]struct{}
}

func newDistinct() *distinct {
	return &distinct{schedules: map[uint64]struct{}{}, states: map[uint64]struct{}{}}
}

func (d *distinct) New(Info) Watcher { return &distinctWatcher{met: map[uint64]struct{}{}} }

func (d *distinct) Collect(_ int, noted any) {
	d.counted++
	for _, h := range noted.([]uint64) {
		d.states[h] = struct{}{}
	}
}

// distinctWatcher collects states: the fingerprints of all nodes that are up, if the system offers them.
type distinctWatcher struct {
	met   map[uint64]struct{} // by this worker
	fresh []uint64
}

func (*distinctWatcher) observes(run int) bool { return countsStates(run) }

func (d *distinctWatcher) Reset() { d.fresh = nil }

func (d *distinctWatcher) Observe(r *Run) {
	h := uint64(r.up)
	for n := range r.up.All() {
		f, ok := r.Fingerprint(n)
		if !ok {
			return
		}
		h = RunSeed(h^f, int(n))
	}
	if _, ok := d.met[h]; !ok {
		d.met[h] = struct{}{}
		d.fresh = append(d.fresh, h)
	}
}

// Noted returns the states that are new to the worker.
func (d *distinctWatcher) Noted() any { return d.fresh }
