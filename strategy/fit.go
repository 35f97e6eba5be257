package strategy

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/option"
)

// checked is a strategy that knows what is wrong with its options besides their ranges, and why
// a system does not fit.
type checked interface {
	check(lockstep.Info) error
}

// fits reports which option of a strategy is not in its range, or what else is wrong.
func fits(name string, s checked, info lockstep.Info) error {
	if err := option.Check(s); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return s.check(info)
}

// fit is the terms of a strategy that promises something and has no others.
func fit(name string, s interface {
	checked
	guarantee(lockstep.Info) lockstep.Guarantee
}, info lockstep.Info) (lockstep.Terms, error) {
	if err := fits(name, s, info); err != nil {
		return lockstep.Terms{}, err
	}
	return lockstep.Terms{Guarantee: s.guarantee(info)}, nil
}
