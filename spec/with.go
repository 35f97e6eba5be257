package spec

import "github.com/lockstep-go/lockstep"

// With is a spec that a system puts to the test only where one of its options is set: without them nothing is wrong
// where no run checks the properties.
func With(s lockstep.Spec, options ...string) lockstep.Spec { return conditional{s, options} }

type conditional struct {
	lockstep.Spec
	options []string
}

// Optional says so of all properties.
func (c conditional) Optional(info lockstep.Info) []bool {
	set := false
	for _, name := range c.options {
		_, is := info.Options[name]
		set = set || is
	}
	optional := optionalOf(c.Spec, info)
	for i := range optional {
		optional[i] = optional[i] || !set
	}
	return optional
}

// optionalOf says which properties of a spec are optional.
func optionalOf(s lockstep.Spec, info lockstep.Info) []bool {
	if c, ok := s.(lockstep.ConditionalSpec); ok {
		return c.Optional(info)
	}
	return make([]bool, len(s.Properties()))
}
