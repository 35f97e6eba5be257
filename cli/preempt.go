package cli

import (
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
	return codeUnderTest(p, "none of its goroutines can be preempted")
}
