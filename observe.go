package lockstep

// Observer watches the runs of a campaign without judging them, e.g. to measure what they
// covered. It is part of a [Plan].
type Observer interface {
	// New makes a watcher, which serves many runs of one worker.
	New(Info) Watcher
	// Take gets what was noted in each run of the result, in run order and one after the
	// other, however many workers there are.
	Take(run int, noted any)
}

// Watcher looks at one run after the other.
type Watcher interface {
	// Reset begins a new run.
	Reset()
	// Look is called after the start of a run and after every step, before the scenario and
	// the spec look at it. run.Settling tells the steps of the settling stage apart.
	Look(run *Run)
	// Noted is what the run leaves for the observer. It must not change with the next run.
	Noted() any
}

// distinct is the observer that counts the different schedules and states of a campaign.
type distinct struct {
	schedules map[uint64]struct{}
	states    map[uint64]struct{}
}

func newDistinct() *distinct {
	return &distinct{schedules: map[uint64]struct{}{}, states: map[uint64]struct{}{}}
}

func (d *distinct) New(Info) Watcher { return &distinctWatcher{met: map[uint64]struct{}{}} }

func (d *distinct) Take(_ int, noted any) {
	n := noted.(newThings)
	d.schedules[n.schedule] = struct{}{}
	for _, h := range n.states {
		d.states[h] = struct{}{}
	}
}

// newThings are what a run had that its worker had not met before.
type newThings struct {
	schedule uint64
	states   []uint64
}

// distinctWatcher notes states: the fingerprints of all nodes that are up, where the
// system offers them.
type distinctWatcher struct {
	met   map[uint64]struct{} // by this worker
	fresh []uint64
	run   *Run
}

func (w *distinctWatcher) Reset() { w.fresh = nil }

func (w *distinctWatcher) Look(r *Run) {
	w.run = r
	h := uint64(r.up)
	for n := range r.up.All() {
		f, ok := r.Fingerprint(n)
		if !ok {
			return
		}
		h = RunSeed(h^f, int(n))
	}
	if _, ok := w.met[h]; !ok {
		w.met[h] = struct{}{}
		w.fresh = append(w.fresh, h)
	}
}

func (w *distinctWatcher) Noted() any { return newThings{schedule: w.run.digest, states: w.fresh} }
