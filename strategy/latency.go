package strategy

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/trace"
)

// Distribution is a distribution of latencies.
type Distribution uint8

// The distributions, each given by its mean.
const (
	// Constant always returns the mean.
	Constant Distribution = iota
	// Even is uniform between zero and twice the mean.
	Even
	// Exponential is the distribution of the times between independent events.
	Exponential
	// Heavy is a Pareto distribution with exponent 2: mostly half the mean, occasionally much more, at most a thousand
	// times the mean.
	Heavy
)

var distributionNames = []string{"constant", "uniform", "exponential", "heavy"}

// Words lists the names of all distributions, for the parser of options.
func (Distribution) Words() []string { return distributionNames }

// String returns the name of the distribution.
func (d Distribution) String() string { return option.Word(distributionNames, int(d)) }

// instant is virtual time in fractions of the system's unit, fine enough to distinguish events within one tick. It is
// an integer, and draws use no function that rounds differently on different machines, so that runs are the same
// everywhere.
type instant int64

const fractions = 1 << 16

func instantOf(t trace.Time) instant { return instant(t) * fractions }

// time returns the instant on the system's clock.
func (i instant) time() trace.Time { return trace.Time(i / fractions) }

// shrink moves a later instant closer to i after the unit of time became shorter.
func (i instant) shrink(later, unit, before instant) instant {
	if later <= i {
		return later
	}
	high, low := bits.Mul64(uint64(later-i), uint64(unit))
	quotient, _ := bits.Div64(high, low, uint64(before)) // no overflow: unit < before
	return i + instant(quotient)
}

// times multiplies the instant by a factor.
func (i instant) times(factor float64) instant { return instant(float64(i) * factor) }

// draw draws from a distribution with the given mean.
func (d Distribution) draw(r *rand.Rand, mean instant) instant {
	if mean <= 0 {
		return 0
	}
	switch d {
	case Even:
		return instant(r.Int64N(2*int64(mean) + 1))
	case Exponential:
		return exponential(r, mean)
	case Heavy:
		u := float64(1+r.Uint64N(1<<52)) / (1 << 52) // in (0,1]
		return min(instant(float64(mean)/2/math.Sqrt(u)), 1000*mean)
	default:
		return mean
	}
}

// exponential draws by von Neumann's comparison method. The length of a decreasing sequence of uniform numbers decides
// whether the first of them is the fraction of the result.
func exponential(r *rand.Rand, mean instant) instant {
	for whole := instant(0); ; whole++ {
		first := r.Uint64()
		accept := true
		for last := first; ; accept = !accept {
			next := r.Uint64()
			if next >= last {
				break
			}
			last = next
		}
		if accept {
			fraction, _ := bits.Mul64(uint64(mean), first)
			return whole*mean + instant(fraction)
		}
	}
}
