package lockstep

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
)

// Guarantee is a lower bound on the probability that a run hits a given target of the strategy's class, whatever the
// system under test.
type Guarantee struct {
	// Class says what a target is, e.g. "a given 4-periodic uniform execution".
	Class string
	// Space is the exact number of targets, nil if unknown.
	Space *big.Int
	// PerRun is the bound for one run; 0 means that the strategy promises nothing.
	PerRun float64
	// Certain says that the campaign has hit every target.
	Certain bool
	// Assumes lists the assumptions of the bound.
	Assumes []string
}

// After is the bound on the probability that at least one of the given number of runs hits the target.
func (g Guarantee) After(runs int) float64 {
	if g.Certain {
		return 1
	}
	return -math.Expm1(float64(runs) * math.Log1p(-g.PerRun))
}

// Runs is the number of runs after which the probability is at least want, which must lie in (0,1). It is 0 if there
// is no such number below 2^53.
func (g Guarantee) Runs(want float64) int {
	if g.PerRun <= 0 || !(want > 0 && want < 1) {
		return 0
	}
	if g.PerRun >= 1 {
		return 1
	}
	n := math.Ceil(math.Log1p(-want) / math.Log1p(-g.PerRun))
	if n >= 1<<53 {
		return 0
	}
	return max(1, int(n))
}

// under is the guarantee for runs under a scenario, by the parts of it that took effect. Whatever those parts do is
// not the strategy's choice.
func (g Guarantee) under(scenario string, effects []Count) Guarantee {
	var parts []string
	for _, c := range effects {
		if c.N > 0 {
			parts = append(parts, fmt.Sprintf("%q", c.Name))
		}
	}
	if g.Class != "" {
		g.Class += fmt.Sprintf(" that the scenario %s leaves possible", scenario)
	}
	what := "it has done nothing so far"
	if len(parts) > 0 {
		what = "it excludes whatever goes against " + strings.Join(parts, ", ")
	}
	g.Assumes = append(slices.Clip(g.Assumes),
		fmt.Sprintf("the scenario %s comes before the strategy: %s", scenario, what))
	g.Space = nil // the number of remaining targets is unknown
	return g
}

// String is the guarantee for one run in a sentence.
func (g Guarantee) String() string {
	if g.Certain {
		return "certain: the runs " + g.every() + "; " + strings.Join(g.Assumes, "; ")
	}
	if g.PerRun <= 0 {
		return "no guarantee: " + strings.Join(g.Assumes, "; ")
	}
	s := fmt.Sprintf("one run hits %s with probability at least %.3g", g.Class, g.PerRun)
	if g.Space != nil {
		s += fmt.Sprintf(" (there are %s)", count(g.Space))
	}
	return s
}

// every describes runs that hit every target.
func (g Guarantee) every() string {
	class, ok := strings.CutPrefix(g.Class, "a given ")
	if !ok {
		return "made every execution"
	}
	s := "hit every " + class
	if g.Space != nil {
		s += fmt.Sprintf(" (there are %s)", count(g.Space))
	}
	return s
}

// count writes small numbers out and large ones as a power of ten.
func count(n *big.Int) string {
	if n.BitLen() <= 53 {
		return n.String()
	}
	f := new(big.Float).SetInt(n)
	return f.Text('e', 2)
}
