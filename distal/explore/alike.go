package explore

import (
	"strings"

	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/symmetry"
)

// mostAlike is for how many nodes all ways to rename them are tried.
const mostAlike = 6

// alike prepares for looking at one of the states that differ by the names of nodes only, where that is proved to be enough.
// Otherwise it says why it is not.
func (t *table) alike(whole bool) string {
	switch {
	case whole:
		return "not asked for"
	case t.model.Source == nil:
		return "the program is written in lock-step" // where one node may send two messages to another, and the last one counts
	case t.n > mostAlike:
		return "there are too many nodes to try all names"
	}
	reason := symmetry.Broken(t.model.Program.Core, t.model.Network.Formula)
	if reason == "" {
		t.namings = symmetry.Namings(t.n)
	}
	return reason
}

// canon puts in place of a state the least of those that differ from it by names, and says how many those are. What is least does not
// depend on the numbers of local states, which may differ from run to run.
func (t *table) canon(state []uint32) int64 {
	var room, least [mostAlike]uint32
	var named [mostAlike][]uint32
	for p, id := range state {
		named[p] = t.named(id)
	}
	fixed := int64(0)
	copy(least[:], state)
	for i, names := range t.namings {
		same := true
		for p := range state {
			q := names[p] - 1
			room[q] = named[p][i]
			same = same && room[q] == state[q]
		}
		if same = same && equal(room[:t.n], state); same {
			fixed++
		} else if t.less(room[:t.n], least[:t.n]) {
			least = room
		}
	}
	copy(state, least[:t.n])
	return int64(len(t.namings)) / fixed
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
	named := make([]uint32, len(t.namings))
	for i, names := range t.namings {
		s := &machine.State{Vars: make([]machine.Value, len(l.state.Vars))}
		for v, x := range l.state.Vars {
			s.Vars[v] = symmetry.Rename(t.model.Program.Core.Vars[v].Type, x, names)
		}
		named[i] = t.intern(names[l.self-1], s)
	}
	l.named.Store(&named)
	return named
}
