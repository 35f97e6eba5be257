package spec

import "github.com/lockstep-go/lockstep"

// With is a spec that a system exercises only if one of its options is set. Without them, a campaign may leave the
// properties unchecked.
func With(s lockstep.Spec, options ...string) lockstep.Spec { return conditional{s, options} }

type conditional struct {
	lockstep.Spec
	options []string
}

// Optional makes all properties optional if none of the options is set.
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

// Sometimes is that of the spec.
func (c conditional) Sometimes() []bool { return sometimesOf(c.Spec) }

// optionalOf says which properties of a spec are optional.
func optionalOf(s lockstep.Spec, info lockstep.Info) []bool {
	if c, ok := s.(lockstep.ConditionalSpec); ok {
		return c.Optional(info)
	}
	return make([]bool, len(s.Properties()))
}
