package scenario

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// wanted is the kind of request of an action or a reservation.
type wanted struct {
	text string
	is   func(trace.Pending) bool
}

// called is the requests with the given text; an empty text means any.
func called(text string) wanted {
	if text == "" {
		return wanted{"of any kind", func(trace.Pending) bool { return true }}
	}
	return wanted{fmt.Sprintf("%q", text), func(p trace.Pending) bool { return p.Text == text }}
}

// Request gives the oldest waiting request with this text to each eligible node of a group, one request to each. An
// empty text means any request. If the strategy must not give the request before, [Scenario.Reserve] it.
func Request(text string, g Group) Action {
	a := request(called(text), g)
	a.text = fmt.Sprintf("request %q at %s", text, g.text)
	return a
}

// RequestWhere is [Request] for requests that a function selects. The text describes the selection.
func RequestWhere(text string, is func(trace.Pending) bool, g Group) Action {
	return request(wanted{text, is}, g)
}

func request(w wanted, g Group) Action {
	return Action{text: fmt.Sprintf("request %s at %s", w.text, g.text), tame: true, compile: func(c *compiler) act {
		c.need(trace.Request)
		c.offered(w)
		in := c.group(g)
		return func(m *Moment) bool {
			acted := false
			for n := range in(m).All() {
				if id, ok := m.director.waiting(m.Run, w, n); ok {
					acted = do(m, lockstep.Step{Kind: trace.Request, Request: id, Node: n}) || acted
				}
			}
			return acted
		}
	}}
}

// Reserve keeps waiting requests with the given texts from the strategy, so that only the actions [Request] and
// [RequestWhere] give them. Without a text it keeps all requests.
func (s *Scenario) Reserve(texts ...string) *Scenario {
	if len(texts) == 0 {
		texts = []string{""}
	}
	for _, text := range texts {
		s.reserved = append(s.reserved, called(text))
	}
	return s
}

// ReserveWhere is [Scenario.Reserve] for the requests that a function selects. The text describes the selection.
func (s *Scenario) ReserveWhere(text string, is func(trace.Pending) bool) *Scenario {
	s.reserved = append(s.reserved, wanted{text, is})
	return s
}

// waiting is the oldest such request for which a node is eligible and that was not used at this moment already.
func (d *director) waiting(run *lockstep.Run, w wanted, n lockstep.Node) (int32, bool) {
	for _, list := range [...][]trace.Pending{run.Reserved(), run.Pending()} {
		for _, p := range list {
			if w.is(p) && p.To.Has(n) && !slices.Contains(d.asked, p.ID) {
				d.asked = append(d.asked, p.ID)
				return p.ID, true
			}
		}
	}
	return 0, false
}
