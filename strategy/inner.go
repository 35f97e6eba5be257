package strategy

import (
	"strings"

	"github.com/lockstep-go/lockstep"
)

// Inner is a strategy that another one is built on. As an option it is written like any
// strategy, with semicolons instead of commas: "inner=uniform:period=4;rounds=16".
type Inner struct{ lockstep.Strategy }

// String is the strategy as an option.
func (i Inner) String() string {
	if i.Strategy == nil {
		return ""
	}
	return strings.ReplaceAll(i.Strategy.String(), ",", ";")
}

// UnmarshalText reads what String writes.
func (i *Inner) UnmarshalText(text []byte) error {
	s, err := Parse(strings.ReplaceAll(string(text), ";", ","))
	i.Strategy = s
	return err
}
