package strategy

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// races records which kinds of events race with others at the same node. Fault-free runs fill it; it does not change
// afterwards.
type races struct {
	kinds map[eventKind]bool // observed kinds; true: the kind raced
}

// eventKind identifies corresponding events across runs.
type eventKind struct {
	kind     trace.Kind
	from, to lockstep.Node
	name     string
}

func kindOfEvent(turn *lockstep.Turn, e *event) eventKind {
	k := eventKind{kind: e.kind, from: e.from, to: e.node}
	if e.kind == trace.Deliver {
		k.name = turn.Message(e.msg).Type
	}
	if e.kind == trace.Request {
		k.from, k.to = 0, 0 // they are drawn
	}
	return k
}

// has reports whether an event may race. An event of an unknown kind may race.
func (r *races) has(turn *lockstep.Turn, e *event) bool {
	raced, met := r.kinds[kindOfEvent(turn, e)]
	return raced || !met
}

// learn evaluates the events of a finished run. Of two events at one node, the later one races with the earlier one
// unless its cause knew of it.
func (r *races) learn(kinds []eventKind, events []event, c *clocks) {
	if r.kinds == nil {
		r.kinds = map[eventKind]bool{}
	}
	for i := range events {
		e := &events[i]
		if e.at == 0 {
			continue
		}
		raced := false
		for j := range events {
			f := &events[j]
			if i != j && f.node == e.node && f.at > 0 &&
				!c.knows(e.past, int(f.node), f.at) && !c.knows(f.past, int(e.node), e.at) {
				raced = true
				break
			}
		}
		r.kinds[kinds[i]] = r.kinds[kinds[i]] || raced
	}
}

// count returns the number of events of racing kinds.
func (r *races) count(kinds []eventKind) (n int) {
	for _, k := range kinds {
		if r.kinds[k] {
			n++
		}
	}
	return n
}
