package scenario

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Store puts the message into the named set and holds it back: the strategy does not see it until it is released.
func Store(set string) Action {
	return Action{text: "store in " + set, on: decides, class: Reordering, compile: func(c *compiler) act {
		c.mayHold()
		number := c.set(set, true)
		c.held.number(set, c.where, false)
		return func(m *Moment) bool {
			m.hand.Hold(m.Message.ID)
			m.director.sets[number] = append(m.director.sets[number], member{m.Message.ID, true})
			return true
		}
	}}
}

// member is a message in a set, and whether it is held back.
type member struct {
	id   trace.ID
	held bool
}

// Record puts the message into the named set without holding it back. The message may be one that is sent, or one that
// is received: then [DeliverAll] delivers it again.
func Record(set string) Action {
	return Action{text: "record in " + set, on: notes, tame: true, compile: func(c *compiler) act {
		number := c.set(set, true)
		return func(m *Moment) bool {
			if m.Message == nil ||
				slices.ContainsFunc(m.director.sets[number], func(x member) bool { return x.id == m.Message.ID }) {
				return false
			}
			m.director.sets[number] = append(m.director.sets[number], member{m.Message.ID, false})
			return true
		}
	}}
}

// ReleaseAll leaves the messages of a set to the strategy and empties the set. It has an effect if at least one of them
// is still held back.
func ReleaseAll(set string) Action {
	return forAll("release ", set, func(m *Moment, members []member) (acted bool) {
		for _, x := range members {
			acted = release(m, x) || acted
		}
		return acted
	})
}

// release gives a message to the strategy, and reports whether that changes anything.
func release(m *Moment, x member) bool {
	m.hand.Release(x.id)
	m.director.observe.release(m.Run, x.id)
	return x.held && onItsWay(m.Run, x.id)
}

func onItsWay(run *lockstep.Run, id trace.ID) bool { return run.IsFree(id) || run.IsHeld(id) }

// DeliverAll delivers the messages of a set at once, in the order in which they were stored, and empties the set. A
// recorded message that has been delivered since is delivered again, as a copy: the network replays it. A message to
// a node that is down cannot be delivered and is left to the strategy.
func DeliverAll(set string) Action {
	return forAll("deliver all of ", set, func(m *Moment, members []member) (acted bool) {
		var batch []delivery
		for _, x := range members {
			if onItsWay(m.Run, x.id) {
				acted = release(m, x) || acted || m.Run.Possible(lockstep.Step{Kind: trace.Deliver, Msg: x.id})
				batch = append(batch, delivery{id: x.id})
			} else if arrives(m.Run, x.id) && do(m, lockstep.Step{Kind: trace.Duplicate, Msg: x.id}) {
				acted = true
				batch = append(batch, delivery{id: x.id, again: true})
			}
		}
		m.director.deliver(m.hand, batch)
		return acted
	})
}

// arrives reports whether a copy of a message would reach its receiver.
func arrives(run *lockstep.Run, id trace.ID) bool {
	m := run.Message(id)
	return run.Up().Has(m.To) && !run.Cut(m.From).Has(m.To)
}

// delivery is a message that DeliverAll delivers, or of which it delivers a copy once that exists.
type delivery struct {
	id    trace.ID
	again bool
}

// deliver queues deliveries in their order, as soon as all copies are made.
func (d *director) deliver(hand *lockstep.Control, batch []delivery) {
	if slices.ContainsFunc(batch, func(x delivery) bool { return x.again }) {
		d.batches = append(d.batches, batch)
		return
	}
	for _, x := range batch {
		hand.Do(lockstep.Step{Kind: trace.Deliver, Msg: x.id})
	}
}

// replay assigns a copy that was just made to the first batch of deliveries that waits for it.
func (d *director) replay(run *lockstep.Run, hand *lockstep.Control) {
	for i, batch := range d.batches {
		for k, x := range batch {
			if x.again && x.id == run.Last().Msg && len(run.Sent()) == 1 {
				batch[k] = delivery{id: run.Sent()[0].ID}
				d.batches = slices.Delete(d.batches, i, i+1)
				d.deliver(hand, batch)
				return
			}
		}
	}
}

// DropAll loses the messages of a set and empties the set. It has an effect if at least one of them is still in flight.
func DropAll(set string) Action {
	return forAll("drop all of ", set, func(m *Moment, members []member) (acted bool) {
		for _, x := range members {
			acted = do(m, lockstep.Step{Kind: trace.Drop, Msg: x.id}) || acted
		}
		return acted
	})
}

// forAll applies a function to the messages of a set and empties it.
func forAll(verb, set string, all func(*Moment, []member) bool) Action {
	return Action{text: verb + set, compile: func(c *compiler) act {
		number := c.set(set, false)
		c.held.number(set, c.where, true)
		return func(m *Moment) bool {
			members := m.director.sets[number]
			m.director.sets[number] = members[:0]
			return all(m, members)
		}
	}}
}

// InSet holds when the moment concerns a message that is in the set.
func InSet(set string) Condition {
	return setCondition(
		"in "+set,
		set,
		ofMessage(true, atom{about: "in " + set, memory: true}),
		func(m *Moment, members []member) bool {
			return m.Message != nil && slices.ContainsFunc(members, func(x member) bool { return x.id == m.Message.ID })
		},
	)
}

// SetHas holds while the set has at least k messages.
func SetHas(k int, set string) Condition {
	text := fmt.Sprintf("%s has %d", set, k)
	return setCondition(text, set, remembered(text),
		func(_ *Moment, members []member) bool { return len(members) >= k })
}

func setCondition(text, set string, known facts, holds func(*Moment, []member) bool) Condition {
	return Condition{text, func(c *compiler) test {
		number := c.set(set, false)
		return func(m *Moment) bool { return holds(m, m.director.sets[number]) }
	}, known}
}

// Like holds when the moment concerns a message that is like one in the set. The function decides this: it gets the
// system's own messages, the one of the moment and a stored one.
func Like[M any](set, text string, like func(now, stored M) bool) Condition {
	return setCondition(text, set, ofMessage(false), func(m *Moment, members []member) bool {
		now, ok := bodyOf[M](m, text)
		return ok && slices.ContainsFunc(members, func(x member) bool {
			stored, ok := m.Run.Body(x.id).(M)
			return ok && like(now, stored)
		})
	})
}
