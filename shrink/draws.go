package shrink

import (
	"iter"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// lower yields smaller numbers to try in place of a draw: 0 first, then values that approach it by halves.
func lower(v uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for less := uint64(0); less < v; less += max((v-less)/2, 1) {
			if !yield(less) {
				return
			}
		}
	}
}

// with returns a list of draws with one draw replaced.
func with(draws []trace.Draw, at int, v uint64) []trace.Draw {
	draws = slices.Clone(draws)
	draws[at].N = v
	return draws
}

// A draw with at most mostWays outcomes may be a choice that hides the draws after it. A draw is taken modulo the
// number of its outcomes. The largest value is therefore one less than a multiple of all small numbers.
const (
	mostWays = 4
	largest  = 232792560 - 1 // the least common multiple of 1 to 20
)

// raised sets all draws from an index on to the largest value.
func raised(draws []trace.Draw, from int) []trace.Draw {
	for i := range draws[from:] {
		draws[from+i].N = largest
	}
	return draws
}

// byOthers renames the nodes in a list of draws.
func byOthers(draws []trace.Draw, name func(trace.Node) trace.Node) []trace.Draw {
	if !slices.ContainsFunc(draws, func(d trace.Draw) bool { return d.By != 0 }) {
		return draws
	}
	draws = slices.Clone(draws)
	for i := range draws {
		if draws[i].By != 0 {
			draws[i].By = name(draws[i].By)
		}
	}
	return draws
}

// weight measures the size of draws. Very large draws count alike.
func weight(draws []trace.Draw) (w int) {
	for _, d := range draws {
		w += int(min(d.N, 1<<32))
	}
	return w
}
