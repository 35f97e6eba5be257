package lockstep

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// Possible reports whether a step can be taken now. Held messages, timers and requests count: a director may take
// them.
func (r *Run) Possible(s Step) bool { return r.refusal(&s) == "" }

// plain is the message of a step that delivers or loses a message which nothing can keep back, or nil. Most steps are
// of this kind, and are possible without further checks.
func (r *Run) plain(s *Step) *trace.Message {
	i := uint(s.Msg) - 1 // huge if the number is not positive
	if r.calm && (s.Kind == trace.Deliver || s.Kind == trace.Drop) && i < uint(len(r.messages)) &&
		r.messages[i].Fate == trace.InFlight {
		return &r.messages[i]
	}
	return nil
}

// refusal returns the reason why a step cannot be taken now, or the empty string.
func (r *Run) refusal(s *Step) string {
	if !r.info.Supports.Has(s.Kind) {
		return fmt.Sprintf("%s supports only %s", r.info.Name, r.info.Supports)
	}
	switch s.Kind {
	case trace.Deliver:
		return r.undeliverable(s.Msg)
	case trace.Drop:
		return r.unlosable(s.Msg)
	case trace.Duplicate:
		if s.Msg < 1 || int(s.Msg) > len(r.messages) || r.messages[s.Msg-1].Fate == trace.Lost {
			return "the message is not in flight, and was not delivered"
		}
	case trace.Replace:
		if s.Request < 0 || int(s.Request) >= len(r.forged) {
			return "nothing was forged for it"
		}
		if size := len(r.forged[s.Request]); size > trace.MaxBody {
			return fmt.Sprintf("the forged body has %d bytes, allowed are %d", size, trace.MaxBody)
		}
		return r.gone(s.Msg)
	case trace.Timer:
		return r.silent(s.Node)
	case trace.Crash, trace.Restart:
		if !r.isNode(s.Node) {
			return fmt.Sprintf("nodes are 1..%d", r.info.Nodes)
		}
		if r.up.Has(s.Node) != (s.Kind == trace.Crash) {
			return "the node is in that condition already"
		}
	case trace.Request:
		given := func(p trace.Pending) bool { return p.ID == s.Request && p.To.Has(s.Node) }
		if !r.isNode(s.Node) || !r.up.Has(s.Node) ||
			!slices.ContainsFunc(r.pending, given) && !slices.ContainsFunc(r.reserved, given) {
			return "no such request waits for that node, or the node is down"
		}
	case trace.Pause, trace.Jump:
		if !r.isNode(s.Node) || !r.up.Has(s.Node) {
			return "there is no such node, or it is down"
		}
	case trace.Wait:
		if s.For < 1 {
			return "it must last"
		}
	case trace.Cut, trace.Heal:
	default:
		return "it is not a choice"
	}
	return ""
}

func (r *Run) undeliverable(id trace.ID) string {
	switch {
	case !r.onItsWay(id):
		return "the message is not in flight"
	case !r.up.Has(r.messages[id-1].To):
		return "its receiver is down"
	case r.links != nil && r.Head(id) != id:
		return "an older message is in flight on the same link, and links are FIFO"
	case r.overtakes(id):
		return "it would overtake older messages of its link, by more than the strategy lets it"
	}
	return ""
}

func (r *Run) gone(id trace.ID) string {
	if !r.onItsWay(id) {
		return "the message is not in flight"
	}
	return ""
}

// overtakes reports whether the order that runs keep prevents the delivery of a message. The settling stage keeps an
// order of its own.
func (r *Run) overtakes(id trace.ID) bool {
	return r.lines.order != nil && !r.settling && !r.lines.allows(r.messages, id)
}

// unlosable returns the reason why a message cannot be lost.
func (r *Run) unlosable(id trace.ID) string {
	if why := r.gone(id); why != "" {
		return why
	}
	if r.lines.order != nil && !r.settling && !r.lines.loses(r.messages, id) {
		return "there is a copy of it, and the strategy never loses a message that it has doubled"
	}
	return ""
}

// silent returns the reason why the timer of a node cannot fire.
func (r *Run) silent(n Node) string {
	armed := r.timers & r.up
	switch {
	case !r.isNode(n) || !armed.Has(n):
		return "no timer is set at that node, or it is down"
	case r.info.OneClock && !r.due((armed &^ r.heldTimers).With(n)).Has(n):
		return "another timer is due before it, and all nodes share one clock"
	}
	return ""
}

func (r *Run) isNode(n Node) bool { return n >= 1 && int(n) <= r.info.Nodes }

// unqueue takes the director's next step that is still possible.
func (r *Run) unqueue(next *Step) bool {
	for len(r.queue) > 0 {
		*next = r.queue[0]
		r.queue = r.queue[:copy(r.queue, r.queue[1:])]
		if r.Possible(*next) {
			r.guided++
			r.between, r.before = append(r.between, *next), append(r.before, len(r.messages))
			return true
		}
	}
	return false
}
