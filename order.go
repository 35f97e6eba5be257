package lockstep

import (
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// lineups track the messages of a run on their links, if runs keep an order: see [trace.Order].
type lineups struct {
	order *trace.Order     // nil: any order, and nothing is tracked
	free  map[[2]Node]bool // links that do not keep it
	links map[[2]Node]*lineup
	seen  int // messages tracked
}

// lineup is the network of one link. It sees only the order of deliveries, not when messages leave. So it treats
// messages as late as possible. When a message is delivered, the messages before it are lost or swap places with it,
// and its copies are inserted.
type lineup struct {
	network []slot
	copies  map[trace.ID][]trace.ID // copies of a message, in the order of their creation
}

// slot is a message on the network, and the number of places that it has moved back.
type slot struct {
	id    trace.ID
	moved int
}

func (l *lineups) reset() {
	if l.order != nil {
		l.links, l.seen = map[[2]Node]*lineup{}, 0
	}
}

func (l *lineups) link(m *trace.Message) *lineup {
	line := l.links[[2]Node{m.From, m.To}]
	if line == nil {
		line = &lineup{copies: map[trace.ID][]trace.ID{}}
		l.links[[2]Node{m.From, m.To}] = line
	}
	return line
}

// observe adds the messages sent since the last call, except those sent into a cut.
func (l *lineups) observe(messages []trace.Message) {
	for ; l.seen < len(messages); l.seen++ {
		switch m := &messages[l.seen]; {
		case m.Fate == trace.Lost:
		case m.Copy != 0:
			line := l.link(m)
			line.copies[m.Copy] = append(line.copies[m.Copy], m.ID)
		default:
			line := l.link(m)
			line.network = append(line.network, slot{id: m.ID})
		}
	}
}

// allows reports whether the next step of a run may deliver a message.
func (l *lineups) allows(messages []trace.Message, id trace.ID) bool {
	l.observe(messages)
	m := &messages[id-1]
	_, ok := l.link(m).without(messages, id, l.order.Distance)
	return ok || l.free[[2]Node{m.From, m.To}]
}

// deliver tracks the delivery of a message, and reports whether the order allows it.
func (l *lineups) deliver(messages []trace.Message, id trace.ID) (ok bool) {
	l.observe(messages)
	line := l.link(&messages[id-1])
	line.network, ok = line.without(messages, id, l.order.Distance)
	return ok
}

// loses reports whether a message may be lost. Unless the order is Redundant, a duplicated message may not be,
// because the loss would undo the duplication.
func (l *lineups) loses(messages []trace.Message, id trace.ID) bool {
	l.observe(messages)
	m := &messages[id-1]
	return l.order.Redundant || len(l.link(m).copies[id]) == 0 || l.free[[2]Node{m.From, m.To}]
}

// without returns the network after the delivery of a message, and whether the order allows that delivery. The first
// message on the network may be lost or let the second pass. So a message passes one that stays, and those between
// them are lost.
func (l *lineup) without(messages []trace.Message, id trace.ID, distance int) (network []slot, ok bool) {
	network = l.network
	for len(network) > 0 && messages[network[0].id-1].Fate == trace.Lost {
		network = network[1:]
	}
	at := slices.IndexFunc(network, func(s slot) bool { return s.id == id })
	if at < 0 {
		return l.network, false
	}
	rest, it := network[at+1:], network[at]
	var stays []slot
	if at > 0 {
		first := network[0]
		for _, s := range network[1:at] {
			if messages[s.id-1].Fate != trace.Lost {
				return l.network, false
			}
			first.moved++
		}
		if first.moved++; first.moved > distance || it.moved <= -distance {
			return l.network, false
		}
		it.moved--
		stays = []slot{first}
	}
	after := make([]slot, 0, len(rest)+4)
	for _, c := range slices.Backward(l.copies[id]) { // the last copy directly follows the message
		after = append(after, slot{c, it.moved})
	}
	return append(append(after, stays...), rest...), true
}

// orderOf is the order that the messages of a trace keep, which is that of its strategy. The second result is the set
// of links that do not keep it, because a scenario held messages back there.
func orderOf(t *trace.Trace, terms *Terms) (*trace.Order, map[[2]Node]bool) {
	order := t.Header.Order
	if order == nil {
		order = terms.Order
	}
	if order == nil {
		return nil, nil
	}
	lines, free := lineups{order: order}, map[[2]Node]bool{}
	lines.reset()
	var messages []trace.Message
	for i := range t.Records {
		r := &t.Records[i]
		if id := r.Step.Msg; id >= 1 && int(id) <= len(messages) && !r.Settle {
			m := &messages[id-1]
			switch r.Step.Kind {
			case trace.Deliver:
				if !lines.deliver(messages, id) {
					free[[2]Node{m.From, m.To}] = true
				}
				m.Fate = trace.Delivered
			case trace.Drop:
				if !lines.loses(messages, id) {
					free[[2]Node{m.From, m.To}] = true
				}
				m.Fate = trace.Lost
			}
		}
		for _, id := range r.Gone {
			if id >= 1 && int(id) <= len(messages) {
				messages[id-1].Fate = trace.Lost
			}
		}
		for _, m := range r.Sent {
			if m.Lost {
				m.Fate = trace.Lost
			}
			messages = append(messages, m.Message)
		}
		lines.observe(messages)
	}
	return order, free
}
