package lockstep

// distinct counts the different things that a campaign has seen. It is kept only for a
// plan that asks for it.
type distinct struct {
	schedules map[uint64]struct{}
	states    map[uint64]struct{}
}

func newDistinct(wanted bool) *distinct {
	if !wanted {
		return nil
	}
	return &distinct{schedules: map[uint64]struct{}{}, states: map[uint64]struct{}{}}
}

// see notes the state that the system is in after a step: the fingerprints of all nodes
// that are up, where the system offers them.
func (d *distinct) see(r *Run) {
	h := uint64(r.up)
	for n := range r.up.All() {
		f, ok := r.Fingerprint(n)
		if !ok {
			return
		}
		h = RunSeed(h^f, int(n))
	}
	d.states[h] = struct{}{}
}

// take moves what another has seen over to d.
func (d *distinct) take(from *distinct) {
	//lockstep:unordered a union does not depend on the order
	for h := range from.schedules {
		d.schedules[h] = struct{}{}
	}
	//lockstep:unordered likewise
	for h := range from.states {
		d.states[h] = struct{}{}
	}
	clear(from.schedules)
	clear(from.states)
}
