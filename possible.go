package lockstep

import (
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// Possible reports whether a step can be taken now, as far as the network and the nodes
// are concerned.
func (r *Run) Possible(s Step) bool {
	switch s.Kind {
	case trace.Deliver:
		return r.IsInFlight(s.Msg) && r.Deliverable(s.Msg)
	case trace.Drop, trace.Duplicate, trace.Replace:
		return r.IsInFlight(s.Msg)
	case trace.Alarm:
		return r.Alarms().Has(s.Node)
	case trace.Crash:
		return r.up.Has(s.Node)
	case trace.Restart:
		return !r.up.Has(s.Node)
	case trace.Request:
		return r.up.Has(s.Node) && slices.ContainsFunc(r.pending, func(p Pending) bool {
			return p.ID == s.Request && p.To.Has(s.Node)
		})
	default:
		return true
	}
}
