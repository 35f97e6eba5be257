package strategy

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/option"
)

// checked is a strategy that can report invalid options beyond their ranges, and why it does not fit a system.
type checked interface {
	check(lockstep.Info) error
}

// fits reports which option of a strategy is out of range, or another reason why it does not fit.
func fits(name string, s checked, info lockstep.Info) error {
	if err := option.Check(s); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return s.check(info)
}

// fit returns the terms of a strategy that has a guarantee and no other terms.
func fit(name string, s interface {
	checked
	guarantee(lockstep.Info) lockstep.Guarantee
}, info lockstep.Info) (lockstep.Terms, error) {
	if err := fits(name, s, info); err != nil {
		return lockstep.Terms{}, err
	}
	return lockstep.Terms{Guarantee: s.guarantee(info)}, nil
}
