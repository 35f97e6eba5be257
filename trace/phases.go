package trace

import "fmt"

// Phases names the phases of tags, for a protocol that counts in two numbers. With {"height", "round", 100} phase 204
// is round 3 of height 3. The zero value calls a phase by its number.
type Phases struct {
	Group string `json:"group,omitempty"` // name of a group of Per phases
	Name  string `json:"name,omitempty"`  // name of a phase in its group, counted from 0
	Per   int32  `json:"per,omitempty"`   // phases of a group
}

// Of is the name of a phase.
func (p Phases) Of(phase int32) string {
	if p.Per < 1 || phase < 1 {
		return fmt.Sprintf("phase %d", phase)
	}
	return fmt.Sprintf("%s %d, %s %d", p.Group, (phase-1)/p.Per+1, p.Name, (phase-1)%p.Per)
}

// String names the sort key of runs that are shown by their phases: "height and round".
func (p Phases) String() string {
	if p.Per < 1 {
		return "phase"
	}
	return p.Group + " and " + p.Name
}
