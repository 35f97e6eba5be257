package shrink

import (
	"cmp"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// many is the number of actions from which on whole groups of them are left out, when no long stretch can go any more: where
// the actions that matter are everywhere, what is between them would go one by one, and of a run that is slow to make that takes hours.
const many = 300

// group is what actions may have in common; what is not asked for is zero.
type group struct {
	kind     trace.Kind
	message  string // its type
	from, to lockstep.Node
	phase    int32
}

// groupings are the ways to sort actions into groups, from the coarsest on.
var groupings = []func(trace.Action) group{
	func(a trace.Action) group { return group{kind: a.Step.Kind, message: a.Msg.Type} },
	func(a trace.Action) group { return group{kind: a.Step.Kind, to: touched(a), phase: a.Msg.Tag.Phase} },
	func(a trace.Action) group { return group{kind: a.Step.Kind, message: a.Msg.Type, to: touched(a)} },
	func(a trace.Action) group {
		return group{kind: a.Step.Kind, message: a.Msg.Type, phase: a.Msg.Tag.Phase}
	},
	func(a trace.Action) group {
		return group{kind: a.Step.Kind, message: a.Msg.Type, from: a.Msg.From, to: touched(a)}
	},
}

// touched is the node that an action is about.
func touched(a trace.Action) lockstep.Node { return cmp.Or(a.Msg.To, a.Step.Node) }

// byGroups leaves whole groups of actions out of a long script, such as all deliveries of a type, to a node, or of a phase, the largest
// first; before that, long stretches.
func (s *shrinker) byGroups(now script) script {
	if len(now) >= many {
		now = s.shorter(now, len(now)/8)
	}
	for _, of := range groupings {
		if len(now) < many {
			break
		}
		for _, g := range now.groups(of) {
			next := slices.DeleteFunc(slices.Clone(now), func(a trace.Action) bool { return a.Step.Kind != trace.Start && of(a) == g })
			if len(next) < len(now) && s.fails(next) {
				now = s.tidy(next)
				s.keep(now)
			}
		}
	}
	return now
}

// groups are the groups of a script's actions, the largest first, of those alike in size the one that comes first in the script.
func (a script) groups(of func(trace.Action) group) (list []group) {
	size := map[group]int{}
	for _, x := range a {
		g := of(x)
		if size[g]++; size[g] == 1 && x.Step.Kind != trace.Start {
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(x, y group) int { return cmp.Compare(size[y], size[x]) })
	return list
}
