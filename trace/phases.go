package trace

import "fmt"

// Phases says what the phases of tags are called, where a protocol counts in two numbers: with {"height", "round", 100}
// phase 204 is round 3 of height 3. The zero value calls a phase by its number.
type Phases struct {
	Group string `json:"group,omitempty"` // what Per phases make up
	Name  string `json:"name,omitempty"`  // what a phase is in it, counted from 0
	Per   int32  `json:"per,omitempty"`
}

// Of is the name of a phase.
func (p Phases) Of(phase int32) string {
	if p.Per < 1 || phase < 1 {
		return fmt.Sprintf("phase %d", phase)
	}
	return fmt.Sprintf("%s %d, %s %d", p.Group, (phase-1)/p.Per+1, p.Name, (phase-1)%p.Per)
}

// String says by what runs are sorted that are shown by their phases: "height and round".
func (p Phases) String() string {
	if p.Per < 1 {
		return "phase"
	}
	return p.Group + " and " + p.Name
}
