package lockstep

import (
	"fmt"

	"github.com/lockstep-go/lockstep/trace"
)

// perform takes the step r.next: it checks that the step is possible, keeps the books of the
// network, and lets the system do its part. An error is a mistake of whoever chose the
// step, or a broken deployment.
func (r *Run) perform() error {
	s := r.next
	if !r.info.Supports.Has(s.Kind) {
		return r.refuse(s, fmt.Sprintf("%s supports only %s", r.info.Name, r.info.Supports))
	}
	r.steps++
	r.last, r.next = s, r.last
	r.events = r.events[:0]
	r.sent = len(r.messages)
	r.mix(uint64(s.Kind) | uint64(s.Node)<<4 | uint64(uint32(s.Msg))<<12 | uint64(uint32(s.Request))<<44)
	if s.At > r.now {
		r.now = s.At
	}
	var refused string
	switch s.Kind {
	case trace.Deliver, trace.Drop:
		refused = r.takeMessage(s.Msg, s.Kind == trace.Deliver)
	case trace.Duplicate, trace.Replace:
		refused = r.changeMessage(s)
	case trace.Alarm:
		refused = r.fireAlarm(s.Node)
	case trace.Crash, trace.Restart:
		refused = r.switchNode(s)
	case trace.Request:
		p, ok := r.takePending(s.Request)
		if !ok || !p.To.Has(s.Node) || !r.up.Has(s.Node) {
			refused = "no such request waits for that node, or the node is down"
		}
		r.given = p.Text
	case trace.Cut, trace.Heal:
		r.mix(uint64(s.From))
		r.mix(uint64(s.To))
		r.switchLinks(s)
	default:
		refused = "it is not a choice"
	}
	if refused != "" {
		return r.refuse(s, refused)
	}
	if err := r.system.Do(s, &r.out); err != nil {
		return fmt.Errorf("%s: step %d (%s): %w", r.info.Name, r.steps, s, err)
	}
	if r.limits.Time > 0 && r.now > r.limits.Time {
		r.over = fmt.Sprintf("virtual time beyond %d", r.limits.Time)
	}
	return nil
}

func (r *Run) refuse(s *Step, why string) error {
	return fmt.Errorf("step %d (%s) is impossible: %s", r.steps, s, why)
}

func (r *Run) exists(id ID) bool { return id >= 1 && int(id) <= len(r.status) }

// takeMessage removes a message from the network for good.
func (r *Run) takeMessage(id ID, deliver bool) string {
	if !r.exists(id) || r.status[id-1] > held {
		return "the message is not in flight"
	}
	if deliver {
		m := &r.messages[id-1]
		if !r.up.Has(m.To) {
			return "its receiver is down"
		}
		if r.info.FIFO && r.Head(id) < id {
			return "an older message is in flight on the same link, and links are FIFO"
		}
		if m.At > r.now {
			r.now = m.At
		}
	}
	if r.status[id-1] == inFlight {
		r.unfly(id)
	}
	if deliver {
		r.status[id-1] = delivered
	} else {
		r.status[id-1] = lost
		r.lose(r.messages[id-1].From, r.messages[id-1].To)
	}
	return ""
}

// changeMessage copies a message or prepares it for another body.
func (r *Run) changeMessage(s *Step) string {
	if !r.exists(s.Msg) || r.status[s.Msg-1] > held {
		return "the message is not in flight"
	}
	m := &r.messages[s.Msg-1]
	if s.Kind == trace.Duplicate {
		r.faults.Duplicated++
		id := r.send(m.From, m.To, m.Type, m.Tag, m.At, m.Body)
		r.messages[id-1].Copy = s.Msg
		return ""
	}
	if s.Request < 0 || int(s.Request) >= len(r.forged) {
		return "nothing was forged for it"
	}
	if m.From != 0 {
		r.faults.Forged = r.faults.Forged.With(m.From)
	}
	r.bodies++
	m.Body = r.bodies
	return ""
}

func (r *Run) fireAlarm(n Node) string {
	if n < 1 || int(n) > r.info.Nodes || !(r.alarms & r.up).Has(n) {
		return "no alarm is set at that node, or it is down"
	}
	r.alarms = r.alarms.Without(n)
	if at := r.alarmAt[n]; at > r.now {
		r.now = at
	}
	return ""
}

func (r *Run) switchNode(s *Step) string {
	if s.Node < 1 || int(s.Node) > r.info.Nodes {
		return fmt.Sprintf("nodes are 1..%d", r.info.Nodes)
	}
	if r.up.Has(s.Node) != (s.Kind == trace.Crash) {
		return "the node is in that condition already"
	}
	if s.Kind == trace.Crash {
		r.up = r.up.Without(s.Node)
		r.alarms = r.alarms.Without(s.Node)
		r.faults.Crashed = r.faults.Crashed.With(s.Node)
	} else {
		r.up = r.up.With(s.Node)
	}
	return ""
}

func (r *Run) switchLinks(s *Step) {
	r.faults.Cut += btoi(s.Kind == trace.Cut)
	set := func(from, to Nodes) {
		for n := range (from & r.all).All() {
			if s.Kind == trace.Cut {
				r.cut[n] |= to.Without(n)
			} else {
				r.cut[n] &^= to
			}
		}
	}
	set(s.From, s.To)
	if !s.OneWay {
		set(s.To, s.From)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
