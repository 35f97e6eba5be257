package lockstep

import (
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// Possible reports whether a step can be taken now. Held messages, alarms and requests
// count: a director may take them.
func (r *Run) Possible(s Step) bool {
	if !r.info.Supports.Has(s.Kind) {
		return false
	}
	switch s.Kind {
	case trace.Deliver:
		return r.takeable(s.Msg) && r.up.Has(r.messages[s.Msg-1].To) && (!r.info.FIFO || r.Head(s.Msg) >= s.Msg)
	case trace.Drop, trace.Duplicate:
		return r.takeable(s.Msg)
	case trace.Replace:
		return r.takeable(s.Msg) && s.Request >= 0 && int(s.Request) < len(r.forged)
	case trace.Alarm:
		return r.isNode(s.Node) && (r.alarms & r.up).Has(s.Node)
	case trace.Crash:
		return r.isNode(s.Node) && r.up.Has(s.Node)
	case trace.Restart:
		return r.isNode(s.Node) && !r.up.Has(s.Node)
	case trace.Request:
		given := func(p Pending) bool { return p.ID == s.Request && p.To.Has(s.Node) }
		return r.isNode(s.Node) && r.up.Has(s.Node) &&
			(slices.ContainsFunc(r.pending, given) || slices.ContainsFunc(r.reserved, given))
	default:
		return s.Kind == trace.Cut || s.Kind == trace.Heal
	}
}

func (r *Run) isNode(n Node) bool { return n >= 1 && int(n) <= r.info.Nodes }

// takeable reports whether a message is in flight, held or not.
func (r *Run) takeable(id ID) bool { return r.exists(id) && r.status[id-1] <= held }

// unqueue takes the next step of the director that is still possible.
func (r *Run) unqueue(next *Step) bool {
	for len(r.queue) > 0 {
		*next = r.queue[0]
		r.queue = r.queue[:copy(r.queue, r.queue[1:])]
		if r.Possible(*next) {
			return true
		}
	}
	return false
}
