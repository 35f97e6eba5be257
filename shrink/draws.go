package shrink

import (
	"iter"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// lower yields numbers to try instead of a draw: 0 first, then closer to it by halves.
func lower(v uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for less := uint64(0); less < v; less += max((v-less)/2, 1) {
			if !yield(less) {
				return
			}
		}
	}
}

// with is a list of draws with another one in its place.
func with(draws []trace.Draw, at int, v uint64) []trace.Draw {
	draws = slices.Clone(draws)
	draws[at].N = v
	return draws
}

// A choice of one of so few ways may hide the draws after it. The largest number that can be drawn
// is one less than a multiple of all small numbers: a draw is taken modulo the number of its outcomes.
const (
	mostWays = 4
	largest  = 232792560 - 1 // the least common multiple of 1 to 20
)

// raised is a list of draws in which those from one on are as large as they can be.
func raised(draws []trace.Draw, from int) []trace.Draw {
	for i := range draws[from:] {
		draws[from+i].N = largest
	}
	return draws
}

// byOthers is a list of draws, of nodes under other names.
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

// weight tells how large draws are. Of those that are very large it does not matter.
func weight(draws []trace.Draw) (w int) {
	for _, d := range draws {
		w += int(min(d.N, 1<<32))
	}
	return w
}
