package scenario

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Replace gives the message another body, as a Byzantine sender would. The text is in the format in which the system
// reads and writes its messages. Another action may decide over the message; otherwise the strategy controls it.
//
// [Forge], [Rewrite] and [Equivocate] do the same with a body that they compute.
func Replace(body string) Action {
	a := Forge("replace", func(*Moment) string { return body })
	a.text = fmt.Sprintf("replace by %q", body)
	return a
}

// Forge replaces the body of the message by the result of a function of the moment: see [Replace]. The result may
// depend on the receiver, on the message itself and on the run's seed. An empty body leaves the message unchanged.
func Forge(text string, body func(*Moment) string) Action {
	return Action{text: text, on: touches, class: Byzantine, compile: func(c *compiler) act {
		c.need(trace.Replace)
		return func(m *Moment) bool {
			b := body(m)
			return b != "" && do(m, m.hand.Forge(m.Message.ID, b))
		}
	}}
}

// Rewrite replaces the body of the message by a changed copy of the system's own message: see [Replace]. The function
// gets the copy and the receiver. The message's String must return the text format in which the system reads its
// messages.
func Rewrite[M fmt.Stringer](text string, change func(msg M, to lockstep.Node) M) Action {
	return Forge(text, func(m *Moment) string {
		msg, ok := bodyOf[M](m, text)
		if !ok {
			return ""
		}
		return change(msg, m.Message.To).String()
	})
}

// Equivocate replaces the body of the message by one of two, so that a sender sends nodes different contents: see
// [Replace]. Receivers in the group get the body other, all others get body. An empty body leaves the message
// unchanged.
func Equivocate(body, other string, g Group) Action {
	return Action{text: fmt.Sprintf("say %q, but %q to %s", body, other, g.text), on: touches, class: Byzantine,
		compile: func(c *compiler) act {
			in := c.group(g)
			return Forge("", func(m *Moment) string {
				if in(m).Has(m.Message.To) {
					return other
				}
				return body
			}).compile(c)
		}}
}

// Inject sends an additional message with a body of the scenario's own. The message has the sender and receiver of
// the moment's message; the sender is Byzantine. The strategy controls the new message; filters see it when it is
// received. It takes two steps, a copy of the message and the replacement of its body, both of which count as faults.
func Inject(body string) Action {
	return Action{text: fmt.Sprintf("inject %q", body), on: touches, class: Byzantine, compile: func(c *compiler) act {
		c.need(trace.Replace)
		c.need(trace.Duplicate)
		return func(m *Moment) bool {
			if body == "" || !do(m, lockstep.Step{Kind: trace.Duplicate, Msg: m.Message.ID}) {
				return false
			}
			m.director.injects = append(m.director.injects, injection{of: m.Message.ID, body: body})
			return true
		}
	}}
}

// injection is a copy whose body is to be replaced.
type injection struct {
	of   trace.ID
	body string
}

// inject gives the copy just made its body.
func (d *director) inject(run *lockstep.Run, hand *lockstep.Control) {
	for i, in := range d.injects {
		if in.of == run.Last().Msg && len(run.Sent()) == 1 {
			d.injects = append(d.injects[:i], d.injects[i+1:]...)
			if hand.Active() && run.IsFree(run.Sent()[0].ID) {
				hand.Do(hand.Forge(run.Sent()[0].ID, in.body))
			}
			return
		}
	}
}
