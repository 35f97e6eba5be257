package shrink

import (
	"cmp"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// many is the number of actions from which whole groups of them are removed, after no long interval can be removed. If
// the relevant actions are spread over the run, the others would be removed one by one. That takes hours for a slow
// run.
const many = 300

// group holds common properties of actions; properties that do not matter are zero.
type group struct {
	kind     trace.Kind
	message  string // the message type
	from, to lockstep.Node
	phase    int32
}

// groupings are the ways to group actions, from coarse to fine.
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

// touched returns the node that an action concerns.
func touched(a trace.Action) lockstep.Node { return cmp.Or(a.Msg.To, a.Step.Node) }

// byGroups removes whole groups of actions from a long script, such as all deliveries of a type, to a node, or of a
// phase. It removes long intervals first, then groups, the largest first.
func (s *shrinker) byGroups(now script) script {
	if len(now) >= many {
		now = s.shorter(now, len(now)/8)
	}
	for _, of := range groupings {
		if len(now) < many {
			break
		}
		for _, g := range now.groups(of) {
			next := slices.DeleteFunc(slices.Clone(now),
				func(a trace.Action) bool { return a.Step.Kind != trace.Start && of(a) == g })
			if len(next) < len(now) && s.fails(next) {
				now = s.tidy(next)
				s.keep(now)
			}
		}
	}
	return now
}

// groups returns the groups of a script's actions, the largest first; ties are in order of first occurrence.
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
