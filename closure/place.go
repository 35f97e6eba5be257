package closure

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// layout is a run laid out in rounds: which of its steps happen in which round.
type layout struct {
	names  []string // of the rounds of a phase; none: causal layers
	rounds [][]*moment
	phases []int       // by round: its phase, from 1
	byNode [][]*moment // what each node must go through, in the order of the run
}

// needed are the steps of a run that its lock-step form must take: deliveries that had
// an effect, what clients and faults did to nodes, and alarms that changed a state or
// sent something that had an effect. Without fingerprints a delivery in time counts too:
// what it changed may be hidden.
func needed(moments []*moment, hidden bool) []*moment {
	used := map[lockstep.ID]bool{}
	var steps []*moment
	for _, m := range slices.Backward(moments) { // what a step sent comes after it
		keep := false
		switch m.step.Kind {
		case trace.Deliver:
			keep = m.effect || hidden && !m.late
		case trace.Alarm:
			keep = !m.call() || slices.ContainsFunc(m.sent, func(s lockstep.Message) bool { return used[s.ID] })
		case trace.Request, trace.Crash, trace.Restart:
			keep = true
		}
		if !keep {
			continue
		}
		if m.deliver() {
			used[m.msg.ID] = true
		}
		steps = append(steps, m)
	}
	slices.Reverse(steps)
	return steps
}

// byTags lays a run out by the tags of its messages. Every phase that occurs in the run
// becomes a phase of the form, in order; a message belongs to the round of its tag and
// an alarm to that of the first message it sends. Other steps come as early as the
// steps before them on their node allow.
func byTags(steps []*moment, names []string, nodes int) (*layout, error) {
	l := &layout{names: names, byNode: make([][]*moment, nodes+1)}
	used := map[lockstep.ID]bool{}
	var phases []int32
	for _, m := range steps {
		if !m.deliver() {
			continue
		}
		used[m.msg.ID] = true
		if m.late && m.changed {
			return nil, &misplaced{m, "a message that came after its round changed a state"}
		}
		if m.msg.Tag.Phase == 0 || int(m.msg.Tag.Round) >= len(names) || m.msg.Tag.Round < 0 {
			return nil, &misplaced{m, fmt.Sprintf("its tag %v names no round of a phase", m.msg.Tag)}
		}
		phases = append(phases, m.msg.Tag.Phase)
	}
	slices.Sort(phases)
	phases = slices.Compact(phases)
	index := func(t lockstep.Tag) int {
		at, _ := slices.BinarySearch(phases, t.Phase)
		return at*len(names) + int(t.Round)
	}
	reached := make([]int, nodes+1) // by node: the first round in which an act is not too early
	for _, m := range steps {
		round := reached[m.node]
		if m.deliver() {
			round = index(m.msg.Tag)
			reached[m.node] = max(reached[m.node], round+1)
		} else {
			for _, s := range m.sent {
				if used[s.ID] {
					round = index(s.Tag)
					break
				}
			}
			reached[m.node] = max(reached[m.node], round)
		}
		l.put(m, round)
	}
	for i := range l.rounds {
		l.phases = append(l.phases, i/len(names)+1)
	}
	return l, nil
}

// put adds a step to a round.
func (l *layout) put(m *moment, round int) {
	for len(l.rounds) <= round {
		l.rounds = append(l.rounds, nil)
	}
	l.rounds[round] = append(l.rounds[round], m)
	if !m.call() {
		l.byNode[m.node] = append(l.byNode[m.node], m)
	}
}

// misplaced is a step that has no place in the rounds of a run.
type misplaced struct {
	m   *moment
	why string
}

func (e *misplaced) Error() string { return e.why }
