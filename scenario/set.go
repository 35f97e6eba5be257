package scenario

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Store holds the message back, in the set named: the strategy does not see it until it
// is released.
func Store(set string) Action {
	return Action{text: "store in " + set, on: decides, class: Reordering, compile: func(c *compiler) act {
		c.mayHold()
		number := c.set(set, true)
		c.held.number(set, c.where, false)
		return func(m *Moment) bool {
			m.hand.Hold(m.Message.ID)
			m.director.sets[number] = append(m.director.sets[number], m.Message.ID)
			return true
		}
	}}
}

// Record notes the message in the set named without taking it away from anyone.
func Record(set string) Action {
	return Action{text: "record in " + set, on: notes, tame: true, compile: func(c *compiler) act {
		number := c.set(set, true)
		return func(m *Moment) bool {
			if m.Message == nil {
				return false
			}
			m.director.sets[number] = append(m.director.sets[number], m.Message.ID)
			return true
		}
	}}
}

// ReleaseAll gives the messages of a set to the strategy and empties the set.
func ReleaseAll(set string) Action {
	return forAll("release ", set, func(m *Moment, id lockstep.ID) {
		m.hand.Release(id)
		m.director.observe.release(m.Run, id)
	})
}

// DeliverAll delivers the messages of a set at once, in the order in which they were
// stored, and empties the set. What cannot be delivered, because its receiver is down,
// is the strategy's.
func DeliverAll(set string) Action {
	return forAll("deliver all of ", set, func(m *Moment, id lockstep.ID) {
		m.hand.Release(id)
		m.director.observe.release(m.Run, id)
		m.hand.Do(lockstep.Step{Kind: trace.Deliver, Msg: id})
	})
}

// DropAll loses the messages of a set and empties it.
func DropAll(set string) Action {
	return forAll("drop all of ", set, func(m *Moment, id lockstep.ID) {
		m.hand.Do(lockstep.Step{Kind: trace.Drop, Msg: id})
	})
}

// forAll does something with each message of a set and empties it. It acts where there
// is one.
func forAll(verb, set string, do func(*Moment, lockstep.ID)) Action {
	return Action{text: verb + set, compile: func(c *compiler) act {
		number := c.set(set, false)
		c.held.number(set, c.where, true)
		return func(m *Moment) bool {
			ids := m.director.sets[number]
			for _, id := range ids {
				do(m, id)
			}
			m.director.sets[number] = ids[:0]
			return len(ids) > 0
		}
	}}
}

// InSet holds when the moment concerns a message that is in the set.
func InSet(set string) Condition {
	return setCondition("in "+set, set, ofMessage(true, atom{about: "in " + set, memory: true}), func(m *Moment, ids []lockstep.ID) bool {
		return m.Message != nil && slices.Contains(ids, m.Message.ID)
	})
}

// SetHas holds while the set has at least k messages.
func SetHas(k int, set string) Condition {
	text := fmt.Sprintf("%s has %d", set, k)
	return setCondition(text, set, remembered(text), func(_ *Moment, ids []lockstep.ID) bool { return len(ids) >= k })
}

func setCondition(text, set string, known facts, holds func(*Moment, []lockstep.ID) bool) Condition {
	return Condition{text, func(c *compiler) test {
		number := c.set(set, false)
		return func(m *Moment) bool { return holds(m, m.director.sets[number]) }
	}, known}
}

// Like holds when the moment concerns a message that is like one in the set, as a
// function of the system's own messages says.
func Like[M any](set, text string, like func(now, stored M) bool) Condition {
	return setCondition(text, set, ofMessage(false), func(m *Moment, ids []lockstep.ID) bool {
		now, ok := bodyOf[M](m, text)
		return ok && slices.ContainsFunc(ids, func(id lockstep.ID) bool {
			stored, ok := m.Run.Body(id).(M)
			return ok && like(now, stored)
		})
	})
}
