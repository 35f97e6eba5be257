package cli

import (
	"fmt"
	"strconv"

	"github.com/lockstep-go/lockstep/target"
)

// preempts reports whether the options of a target say that goroutines are preempted. The target reports values that
// are wrong.
func preempts(set []string) bool {
	value, _ := takeOption(set, target.PreemptKey)
	if value == nil {
		return false
	}
	share, err := strconv.ParseFloat(*value, 64)
	return err == nil && share > 0
}

// preemptedPackages returns the patterns of the packages in which a program's goroutines are preempted. A package of
// the user's own has no description: then they are those of its module, and the list is empty.
func preemptedPackages(p *target.Program) ([]string, error) {
	patterns := p.Counts()
	if len(patterns) == 0 && p.Module != "" {
		return nil, fmt.Errorf("%s has no Go code under test that the go command builds into it, so none of its "+
			"goroutines can be preempted", p.Name)
	}
	return patterns, nil
}
