package lockstep

// VacuousParts names what the campaign never put to the test: the parts of the scenario
// that never took effect in any run, and the properties that could never have failed,
// where the spec counts. Parts that need not take effect are left out. A campaign that
// found nothing has shown little about what is listed here.
func (r *Result) VacuousParts() []string {
	var parts []string
	for _, c := range r.Effects {
		if c.N == 0 && !c.Optional {
			parts = append(parts, c.Name)
		}
	}
	if r.counted {
		for _, c := range r.Judged {
			if c.N == 0 && !c.Optional {
				parts = append(parts, "property "+c.Name)
			}
		}
	}
	return parts
}
