package strategy

import (
	"strings"

	"github.com/lockstep-go/lockstep"
)

// Inner is a strategy on which another strategy builds. As an option it is written like any strategy, with semicolons
// instead of commas: "inner=uniform:period=4;rounds=16".
type Inner struct{ lockstep.Strategy }

// String returns the strategy as an option.
func (i Inner) String() string {
	if i.Strategy == nil {
		return ""
	}
	return strings.ReplaceAll(i.Strategy.String(), ",", ";")
}

// UnmarshalText parses the output of String.
func (i *Inner) UnmarshalText(text []byte) error {
	s, err := Parse(strings.ReplaceAll(string(text), ";", ","))
	i.Strategy = s
	return err
}
