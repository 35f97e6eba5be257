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
