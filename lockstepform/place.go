package lockstepform

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// layout is a run laid out in rounds: it assigns steps to rounds.
type layout struct {
	names  []string // names of the rounds of a phase; none: causal layers
	rounds [][]*moment
	phases []int       // by round: its phase, from 1
	byNode [][]*moment // the required steps of each node, in the order of the original run
}

// care is how much of a run its lock-step form keeps. Fingerprints need not show the whole state, so a step without a
// visible effect may matter.
type care int

const (
	visible care = iota // deliveries and timers with an effect, or whose messages had one
	timers              // also all timers
	inTime              // also all deliveries that were not late
	careEnd
)

// needed returns the steps of a run that its lock-step form must take. These are requests and faults at nodes, and
// deliveries and timers depending on the care.
func needed(moments []*moment, c care) []*moment {
	used := map[trace.ID]bool{}
	var steps []*moment
	for _, m := range slices.Backward(moments) { // backward, because the messages of a step come after it
		keep := m.node != 0 && !m.call() ||
			slices.ContainsFunc(m.sent, func(s trace.Message) bool { return used[s.ID] })
		switch m.step.Kind {
		case trace.Deliver:
			keep = keep || c >= inTime && !m.late
		case trace.Timer:
			keep = keep || c >= timers
		case trace.Request, trace.Crash, trace.Restart, trace.Pause, trace.Jump:
			keep = true
		default: // the form generates the network's steps
			keep = false
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

// byTags lays a run out by the tags of its messages. Every phase of the run becomes a phase of the form, in order. A
// message belongs to the round of its tag, and a timer to that of the first message it sends. Other steps come as early
// as the previous steps on their node allow.
func byTags(steps []*moment, names []string, nodes int) (*layout, error) {
	l := &layout{names: names, byNode: make([][]*moment, nodes+1)}
	used := map[trace.ID]bool{}
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
	index := func(t trace.Tag) int {
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

// misplaced reports a step that does not fit into the rounds of a run.
type misplaced struct {
	m   *moment
	why string
}

func (m *misplaced) Error() string { return m.why }
