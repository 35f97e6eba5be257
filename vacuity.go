package lockstep

// VacuousParts names what the campaign never put to the test: the parts of the scenario
// that never took effect in any run, and the properties that could never have failed,
// where the spec counts. Parts that need not take effect are left out. A campaign that
// found nothing has shown little about what is listed here.
func (r *Result) VacuousParts() []string { return append(r.idle(), r.unjudged()...) }

// idle names the parts of the scenario that never took effect.
func (r *Result) idle() []string { return zero("", r.Effects) }

// unjudged names the properties that could never have failed.
func (r *Result) unjudged() []string {
	if !r.counted {
		return nil
	}
	return zero("property ", r.Judged)
}

// zero names the counts that stayed zero and should not have.
func zero(prefix string, counts []Count) (names []string) {
	for _, c := range counts {
		if c.N == 0 && !c.Optional {
			names = append(names, prefix+c.Name)
		}
	}
	return names
}
