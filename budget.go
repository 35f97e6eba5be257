package lockstep

import "fmt"

// Unlimited as a number in a [Budget] means that there is no bound.
const Unlimited = -1

// Budget is a fault model: how many faults of each kind a run may have. Faults of the scenario and of the strategy
// count together. The zero Budget allows none. A run that exceeds its budget proves nothing about a protocol that
// promises to survive only that many faults. Such a run ends with the verdict unknown and is never a finding.
type Budget struct {
	// Crashes is the number of nodes that may crash, at once or one after the other.
	Crashes int
	// Byzantine is the number of nodes that may send forged messages. Crashes of such a node and losses of its messages
	// do not count.
	Byzantine int
	// Losses is the number of messages that may be lost: dropped or sent into a cut. Messages to a crashed node and
	// from a Byzantine node do not count.
	Losses int
	// Links is the number of links, each in one direction, that may lose any number of messages. The losses of a run
	// fit the budget if there are at most Losses of them, or if they lie on at most Links links.
	Links int
	// Duplicates is the number of messages that may arrive twice.
	Duplicates int
}

// check reports a number that is out of range.
func (b *Budget) check() error {
	if b == nil {
		return nil
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"Crashes", b.Crashes},
		{"Byzantine", b.Byzantine},
		{"Losses", b.Losses},
		{"Links", b.Links},
		{"Duplicates", b.Duplicates},
	} {
		if f.value < Unlimited {
			return fmt.Errorf("lockstep: the budget's %s is %d, allowed are numbers from 0 and Unlimited (%d)", f.name,
				f.value, Unlimited)
		}
	}
	return nil
}

// exceeded says how a run exceeds the budget, or returns the empty string.
func (b *Budget) exceeded(r *Run) string {
	f := &r.faults
	switch crashed := (f.crashed &^ f.byzantine).Len(); {
	case exceeds(f.byzantine.Len(), b.Byzantine):
		return fmt.Sprintf("fault budget exceeded: %d Byzantine nodes, %d allowed", f.byzantine.Len(), b.Byzantine)
	case exceeds(crashed, b.Crashes):
		return fmt.Sprintf("fault budget exceeded: %d nodes crashed, %d allowed", crashed, b.Crashes)
	case exceeds(f.duplicated, b.Duplicates):
		return fmt.Sprintf("fault budget exceeded: %d messages duplicated, %d allowed", f.duplicated, b.Duplicates)
	case f.lost == 0 || b.Losses == Unlimited || b.Links == Unlimited:
		return ""
	}
	messages, links := r.losses.without(f.byzantine)
	if exceeds(messages, b.Losses) && exceeds(links, b.Links) {
		return fmt.Sprintf("fault budget exceeded: %d messages lost on %d links, %d messages or %d links allowed",
			messages, links, b.Losses, b.Links)
	}
	return ""
}

func exceeds(n, limit int) bool { return limit != Unlimited && n > limit }

// losses records which senders lost messages, and on which links.
type losses struct {
	from []int   // by sender; 0 is a client
	to   []Nodes // by sender; 0 is a client
	any  bool
}

func newLosses(nodes int) losses {
	return losses{from: make([]int, nodes+1), to: make([]Nodes, nodes+1)}
}

func (l *losses) reset() {
	if l.any {
		clear(l.from)
		clear(l.to)
		l.any = false
	}
}

// without counts the lost messages and the links that lost them, excluding the given senders.
func (l *losses) without(senders Nodes) (messages, links int) {
	for n := range l.from {
		if n > 0 && senders.Has(Node(n)) {
			continue
		}
		messages += l.from[n]
		links += l.to[n].Len()
	}
	return messages, links
}

// lose counts a lost message. A message to a node that is down does not count: the crash accounts for it.
func (r *Run) lose(from, to Node) {
	if !r.up.Has(to) {
		return
	}
	r.faults.lost++
	r.losses.from[from]++
	r.losses.to[from] = r.losses.to[from].With(to)
	r.losses.any = true
}
