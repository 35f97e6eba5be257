package scenario

import (
	"slices"

	"github.com/lockstep-go/lockstep"
)

// Success is the name under which a campaign counts its successful runs. In such a run, the scenario took effect, and
// all machines with success states ended in one.
const Success = "success"

// The names of the two counts that Share divides.
const (
	allSteps    = "steps"
	guidedSteps = "steps taken by the scenario"
)

// Report reports what the scenario did in the run just ended.
func (d *director) Report() (vacuous string, counts []lockstep.Count) {
	return d.vacuous(), d.count()
}

// vacuous says why the run does not count, or is empty.
func (d *director) vacuous() string {
	filters := 0
	for i := range d.filters {
		if f := &d.filters[i]; !f.aside {
			filters++
			if f.acted > 0 {
				return ""
			}
		}
	}
	if filters > 0 && !d.omits { // the others may depend on the omitted one
		return "no filter of the scenario acted"
	}
	for i := range d.machines {
		for _, n := range d.machines[i].reached {
			if n > 0 {
				return ""
			}
		}
	}
	return "no state of the scenario was reached"
}

// count counts the effects of the scenario's parts.
func (d *director) count() []lockstep.Count {
	if d.counts == nil {
		d.counts = d.names()
	}
	at := 0
	set := func(n int) {
		d.counts[at].N = n
		at++
	}
	for i := range d.filters {
		set(d.filters[i].matched)
		set(d.filters[i].acted)
	}
	for i := range d.machines {
		for _, n := range d.machines[i].reached[1:] {
			set(n)
		}
	}
	n := 0
	if d.success {
		n = 1
	}
	set(n)
	set(d.steps)
	set(d.guided)
	return d.counts
}

// names lists the names of the counts.
func (d *director) names() (counts []lockstep.Count) {
	for i := range d.filters {
		f := &d.filters[i]
		counts = append(counts, // a filter that never matched never acted: it is reported once
			lockstep.Count{Name: f.title() + " matched", Optional: true},
			lockstep.Count{Name: f.title() + " acted", Optional: d.omits || f.aside})
	}
	succeeds := false
	for i := range d.machines {
		m := &d.machines[i]
		succeeds = succeeds || m.succeeds
		for _, s := range m.states[1:] {
			counts = append(counts, lockstep.Count{
				Name: "state " + s.name + " of machine " + m.name + " reached", Optional: s.dead || s.name == Fail})
		}
	}
	return append(counts, lockstep.Count{Name: Success, Optional: !succeeds},
		lockstep.Count{Name: allSteps, Optional: true}, lockstep.Count{Name: guidedSteps, Optional: true})
}

// Successes is the number of runs of a campaign in which its scenario succeeded.
func Successes(r *lockstep.Result) int { return counted(r, Success) }

// CanSucceed reports whether the scenario of a campaign has success states at all.
func CanSucceed(r *lockstep.Result) bool {
	return slices.ContainsFunc(r.Effects, func(c lockstep.Count) bool { return c.Name == Success && !c.Optional })
}

// Share is the fraction of a campaign's steps that its scenario took, in [0,1]; the strategy took the others. To hold
// or release a message is no step.
func Share(r *lockstep.Result) float64 {
	steps := counted(r, allSteps)
	if steps == 0 {
		return 0
	}
	return float64(counted(r, guidedSteps)) / float64(steps)
}

func counted(r *lockstep.Result, name string) int {
	for _, c := range r.Effects {
		if c.Name == name {
			return c.N
		}
	}
	return 0
}
