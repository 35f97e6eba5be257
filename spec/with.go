package spec

import "github.com/lockstep-go/lockstep"

// OptionalUnless returns the spec with optional properties: a campaign may leave them unchecked. If the system has one
// of the given options set, they are not optional. The options are those of [lockstep.Info]. An example is a spec about
// watches, and a target whose clients watch only with the option watchers.
func OptionalUnless(s lockstep.Spec, options ...string) lockstep.Spec { return conditional{s, options} }

type conditional struct {
	lockstep.Spec
	options []string
}

// Counts makes all properties optional if none of the options is set.
func (c conditional) Counts(info lockstep.Info) []lockstep.Count {
	set := false
	for _, name := range c.options {
		_, is := info.Options[name]
		set = set || is
	}
	counts := countsOf(c.Spec, info)
	for i := range counts {
		counts[i].Optional = counts[i].Optional || !set
	}
	return counts
}

// countsOf returns the counts of a spec's properties.
func countsOf(s lockstep.Spec, info lockstep.Info) (counts []lockstep.Count) {
	if c, ok := s.(lockstep.ConditionalSpec); ok {
		return c.Counts(info)
	}
	for _, name := range s.Properties() {
		counts = append(counts, lockstep.Count{Name: name})
	}
	return counts
}
