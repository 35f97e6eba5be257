package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Condition is a predicate on a moment. It is an immutable value.
type Condition struct {
	text    string
	compile func(*compiler) test
	facts   facts
}

// test is a condition prepared for one worker.
type test func(*Moment) bool

// String is the condition as text.
func (c Condition) String() string { return c.text }

// plain is a condition that needs nothing from the scenario.
func plain(text string, known facts, t test) Condition {
	return Condition{text, func(*compiler) test { return t }, known}
}

// Cond is a custom condition in Go. The text describes it in reports. The function must not keep state of its own: one
// scenario serves many workers.
func Cond(text string, holds func(*Moment) bool) Condition { return plain(text, facts{}, holds) }

// And holds when this condition and all others hold.
func (c Condition) And(others ...Condition) Condition {
	return All(append([]Condition{c}, others...)...)
}

// Or holds when this condition or one of the others holds.
func (c Condition) Or(others ...Condition) Condition {
	return Any(append([]Condition{c}, others...)...)
}

// Not holds when this condition does not.
func (c Condition) Not() Condition {
	return Condition{"not (" + c.text + ")", func(b *compiler) test {
		t := b.test(c)
		return func(m *Moment) bool { return !t(m) }
	}, c.facts.not()}
}

// All holds when all conditions hold, and always if there is none.
func All(conditions ...Condition) Condition {
	if len(conditions) == 1 {
		return conditions[0]
	}
	if len(conditions) == 0 {
		return plain("always", facts{whole: true}, func(*Moment) bool { return true })
	}
	return Condition{join(conditions, " and "), func(b *compiler) test {
		tests := b.tests(conditions)
		return func(m *Moment) bool {
			for _, t := range tests {
				if !t(m) {
					return false
				}
			}
			return true
		}
	}, all(conditions)}
}

// Any holds when one of the conditions holds.
func Any(conditions ...Condition) Condition {
	if len(conditions) == 1 {
		return conditions[0]
	}
	return Condition{"(" + join(conditions, " or ") + ")", func(b *compiler) test {
		tests := b.tests(conditions)
		return func(m *Moment) bool {
			for _, t := range tests {
				if t(m) {
					return true
				}
			}
			return false
		}
	}, anyOf(conditions)}
}

func join(conditions []Condition, word string) string {
	texts := make([]string, len(conditions))
	for i, c := range conditions {
		texts[i] = c.text
	}
	return strings.Join(texts, word)
}

// IsSend holds when a message was sent.
func IsSend() Condition {
	return plain("send", happened(aSend), func(m *Moment) bool { return m.Kind == Sent })
}

// IsReceive holds when a message was received.
func IsReceive() Condition {
	return plain("receive", happened(aReceive), func(m *Moment) bool { return m.Kind == Received })
}

// IsEvent holds when an event of one of the types happened at a node.
func IsEvent(types ...string) Condition {
	return Condition{"event " + orList(types), func(c *compiler) test {
		c.known("event", types, c.info.Events)
		return func(m *Moment) bool { return m.Kind == Emitted && slices.Contains(types, m.Event.Type) }
	}, all([]Condition{{facts: happened(anEvent)}, {facts: facts{[]atom{{about: aboutEvent, in: types}}, true}}})}
}

// Did holds when a step of one of the kinds was taken: a timer, a crash, a drop and so on. It is not for deliveries,
// whose moment is a receipt ([IsReceive]). The kind trace.Start is the start of the run.
func Did(kinds ...trace.Kind) Condition {
	set := trace.KindsOf(kinds...)
	return Condition{set.String(), func(c *compiler) test {
		if set.Has(trace.Deliver) {
			c.problem("Did is about steps that deliver nothing: use IsReceive for deliveries")
		}
		return func(m *Moment) bool { return m.Kind == Stepped && set.Has(m.Run.Last().Kind) }
	}, all([]Condition{{facts: happened(aStep)}, {facts: facts{[]atom{{about: aboutStep, in: inText(kinds)}}, true}}})}
}

// During holds at every moment of a step of one of the kinds: at the step itself and at the events and messages that
// it caused.
func During(kinds ...trace.Kind) Condition {
	set := trace.KindsOf(kinds...)
	return plain("during "+set.String(), facts{[]atom{{about: aboutStep, in: inText(kinds)}}, true},
		func(m *Moment) bool { return set.Has(m.Run.Last().Kind) })
}

// Type holds when the moment concerns a message of one of the types.
func Type(types ...string) Condition {
	return Condition{orList(types), func(c *compiler) test {
		c.known("message", types, c.info.Types)
		return func(m *Moment) bool { return m.Message != nil && slices.Contains(types, m.Message.Type) }
	}, ofMessage(true, atom{about: aboutType, in: types})}
}

// From holds when the moment concerns a message from one of the nodes.
func From(nodes ...lockstep.Node) Condition { return FromGroup(Only(nodes...)) }

// To holds when the moment concerns a message to one of the nodes.
func To(nodes ...lockstep.Node) Condition { return ToGroup(Only(nodes...)) }

// Link holds when the moment concerns a message between two nodes, in either direction.
func Link(a, b lockstep.Node) Condition { return Between(Only(a), Only(b)) }

// At holds when the node that the moment concerns is one of these: see [Moment].Node.
func At(nodes ...lockstep.Node) Condition { return AtGroup(Only(nodes...)) }

// FromGroup holds when the moment concerns a message from a node of the group.
func FromGroup(g Group) Condition {
	return g.condition("from ", aboutFrom,
		func(m *Moment, in lockstep.Nodes) bool { return m.Message != nil && has(in, m.Message.From) })
}

// ToGroup holds when the moment concerns a message to a node of the group.
func ToGroup(g Group) Condition {
	return g.condition("to ", aboutTo,
		func(m *Moment, in lockstep.Nodes) bool { return m.Message != nil && has(in, m.Message.To) })
}

// AtGroup holds when the node that the moment concerns is in the group: see [At].
func AtGroup(g Group) Condition {
	return g.condition("at ", aboutNode, func(m *Moment, in lockstep.Nodes) bool { return has(in, m.Node) })
}

// Between holds when the moment concerns a message between two groups, in either direction.
func Between(a, b Group) Condition {
	return Condition{fmt.Sprintf("between %s and %s", a.text, b.text), func(c *compiler) test {
		inA, inB := c.group(a), c.group(b)
		return func(m *Moment) bool {
			if m.Message == nil {
				return false
			}
			x, y, from, to := inA(m), inB(m), m.Message.From, m.Message.To
			return has(x, from) && has(y, to) || has(y, from) && has(x, to)
		}
	}, ofMessage(a.key != "" && b.key != "",
		atom{about: "between " + a.key + " and " + b.key, memory: a.memory || b.memory})}
}

// Phase holds when the moment concerns a message of one of the phases, if messages carry tags.
func Phase(phases ...int32) Condition {
	return Condition{"phase " + orList(phases), func(c *compiler) test {
		c.tagged()
		return func(m *Moment) bool { return m.Message != nil && slices.Contains(phases, m.Message.Tag.Phase) }
	}, ofMessage(true, atom{about: "the phase", in: inText(phases)})}
}

// Round holds when the moment concerns a message of the named round, if messages carry tags.
func Round(name string) Condition {
	return Condition{"round " + name, func(c *compiler) test {
		c.tagged()
		at := slices.Index(c.info.Rounds, name)
		if at < 0 && len(c.info.Rounds) > 0 {
			c.problem("no round is called %q, there are %s", name, strings.Join(c.info.Rounds, ", "))
		}
		return func(m *Moment) bool {
			return m.Message != nil && m.Message.Tag.Phase > 0 && int(m.Message.Tag.Round) == at
		}
	}, ofMessage(true, atom{about: "the round", in: []string{name}})}
}

// Since holds when the virtual time is at least t.
func Since(t trace.Time) Condition {
	return plain(fmt.Sprintf("since time %d", t), facts{[]atom{{about: fmt.Sprintf("since time %d", t)}}, true},
		func(m *Moment) bool { return m.Run.Now() >= t })
}

// WithProbability holds with the probability p, drawn from the run's seed at each evaluation.
func WithProbability(p float64) Condition {
	return Condition{fmt.Sprintf("with chance %v", p), func(c *compiler) test {
		if !(p >= 0 && p <= 1) {
			c.problem("a probability of %v, allowed is [0,1]", p)
		}
		return func(m *Moment) bool { return m.Rand().Float64() < p }
	}, facts{}}
}

// Body holds when the moment concerns a message whose content, the system's own message of type M, satisfies the
// function.
func Body[M any](text string, holds func(M) bool) Condition {
	return plain(text, ofMessage(false), func(m *Moment) bool {
		msg, ok := bodyOf[M](m, text)
		return ok && holds(msg)
	})
}

// bodyOf is the system's own message, if the moment concerns one. Another type is a bug of the scenario.
func bodyOf[M any](m *Moment, condition string) (msg M, ok bool) {
	if m.Message == nil {
		return msg, false
	}
	body := m.Body()
	if msg, ok = body.(M); !ok {
		m.Abort(fmt.Errorf("%q is about messages of type %T, but the system's are %T", condition, msg, body))
	}
	return msg, ok
}

// Value holds at an event of the given type whose value, of type V, satisfies the function.
func Value[V any](event, text string, holds func(V) bool) Condition {
	return IsEvent(event).And(plain(text, facts{}, func(m *Moment) bool {
		v, ok := m.Event.Value.(V)
		if !ok {
			m.Abort(
				fmt.Errorf("%q is about values of type %T, but those of event %s are %T", text, v, event,
					m.Event.Value),
			)
			return false
		}
		return holds(v)
	}))
}

func orList[T any](list []T) string {
	return strings.Join(inText(list), "|")
}

func has(set lockstep.Nodes, n lockstep.Node) bool { return n > 0 && set.Has(n) }
