package explore

import (
	"strings"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/symmetry"
)

// alike prepares for looking at one of the states that differ only by the names of nodes, or by which of some numbers
// they have, where that is proved to be enough. Where it is not, it says why.
func (t *table) alike(whole bool) (nodes, values string) {
	const unasked = "not asked for"
	switch {
	case whole:
		return unasked, unasked
	case t.model.Source == nil:
		// where one node may send two messages to another, and the last one counts
		const lockstep = "the program is written in lock-step"
		return lockstep, lockstep
	}
	t.symmetry = symmetry.Find(t.model.Program.Core, t.model.Network.Formula, t.model.Program.Params())
	return t.symmetry.Nodes, t.symmetry.Values
}

// canon puts in place of a state the least of those that are like it, and says how many those are. What is least does
// not depend on the numbers of local states, which may differ from run to run.
func (t *table) canon(state []uint32) int64 {
	var spare, least [core.MaxNodes]uint32
	var named [core.MaxNodes][]uint32
	for p, id := range state {
		named[p] = t.named(id)
	}
	fixed := int64(0)
	copy(least[:], state)
	for i, by := range t.symmetry.Namings {
		same := true
		for p := range state {
			q := by.Nodes[p] - 1
			spare[q] = named[p][i]
			same = same && spare[q] == state[q]
		}
		if same = same && equal(spare[:t.n], state); same {
			fixed++
		} else if t.less(spare[:t.n], least[:t.n]) {
			least = spare
		}
	}
	copy(state, least[:t.n])
	return int64(len(t.symmetry.Namings)) / fixed
}

func equal(a, b []uint32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// less compares states by their content.
func (t *table) less(a, b []uint32) bool {
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		x, y := t.local(a[i]), t.local(b[i])
		if x.hash != y.hash {
			return x.hash < y.hash
		}
		return strings.Compare(x.key, y.key) < 0
	}
	return false
}

// named finds a local state under all names.
func (t *table) named(id uint32) []uint32 {
	l := t.local(id)
	if known := l.named.Load(); known != nil {
		return *known
	}
	named := make([]uint32, len(t.symmetry.Namings))
	for i, by := range t.symmetry.Namings {
		named[i] = t.intern(by.Nodes[l.self-1], &machine.State{Vars: t.symmetry.Rename(l.state.Vars, by)})
	}
	l.named.Store(&named)
	return named
}
