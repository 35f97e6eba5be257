package scenario

import (
	"fmt"
	"maps"
)

// Counter is a number that belongs to the run and starts at 0.
type Counter struct {
	name  string
	per   Key
	keyed bool
	of    Key
	once  bool // it counts each value of the key of only once
}

// Count is the counter with the given name.
func Count(name string) Counter { return Counter{name: name} }

// Per is the counter with a separate number for each key. All uses of one name must agree on it.
func (c Counter) Per(key Key) Counter {
	c.per, c.keyed = key, true
	return c
}

// Distinct is the counter that counts each key only once: with BySender it counts senders,
// not messages. All uses of one name must agree on it.
func (c Counter) Distinct(key Key) Counter {
	c.of, c.once = key, true
	return c
}

// String is the counter's name, with its keys.
func (c Counter) String() string {
	text := c.name
	if c.once {
		text += " by different " + c.of.text
	}
	if c.keyed {
		text += " per " + c.per.text
	}
	return text
}

// Incr increments the counter. A Distinct counter is incremented only if the key is new: otherwise Incr has no
// effect.
func (c Counter) Incr() Action {
	return c.change("count "+c.String(), func(t *tally, m *Moment) bool {
		if c.once && !t.isNew(m, c) {
			return false
		}
		*t.at(m, c)++
		return true
	})
}

// Reset sets the counter to 0.
func (c Counter) Reset() Action {
	return c.change("reset "+c.String(), func(t *tally, m *Moment) bool {
		*t.at(m, c) = 0
		t.forget(m, c)
		return true
	})
}

// Lt holds while the counter is less than v.
func (c Counter) Lt(v int) Condition {
	return c.compare(fmt.Sprintf("%s < %d", c, v), func(n int) bool { return n < v })
}

// Le holds while the counter is at most v.
func (c Counter) Le(v int) Condition {
	return c.compare(fmt.Sprintf("%s <= %d", c, v), func(n int) bool { return n <= v })
}

// Gt holds while the counter is greater than v.
func (c Counter) Gt(v int) Condition {
	return c.compare(fmt.Sprintf("%s > %d", c, v), func(n int) bool { return n > v })
}

// Ge holds while the counter is at least v.
func (c Counter) Ge(v int) Condition {
	return c.compare(fmt.Sprintf("%s >= %d", c, v), func(n int) bool { return n >= v })
}

// Eq holds while the counter is v.
func (c Counter) Eq(v int) Condition {
	return c.compare(fmt.Sprintf("%s = %d", c, v), func(n int) bool { return n == v })
}

func (c Counter) compare(text string, holds func(int) bool) Condition {
	return Condition{text, func(b *compiler) test {
		number := b.counter(c, false)
		return func(m *Moment) bool { return holds(*m.director.counters[number].at(m, c)) }
	}, remembered(text)}
}

func (c Counter) change(text string, change func(*tally, *Moment) bool) Action {
	return Action{text: text, tame: true, compile: func(b *compiler) act {
		number := b.counter(c, true)
		return func(m *Moment) bool { return change(&m.director.counters[number], m) }
	}}
}

// tally is a counter in a run.
type tally struct {
	one  int
	per  map[uint64]*int
	seen map[[2]uint64]struct{} // keys that a Distinct counter has counted, each with the key of its number
}

// isNew reports whether a Distinct counter sees this key for the first time, and records it.
func (t *tally) isNew(m *Moment, c Counter) bool {
	key := [2]uint64{c.kept(m), c.of.of(m)}
	if _, ok := t.seen[key]; ok {
		return false
	}
	if t.seen == nil {
		t.seen = map[[2]uint64]struct{}{}
	}
	t.seen[key] = struct{}{}
	return true
}

// forget makes all keys new again that a Distinct counter has counted in one of its numbers.
func (t *tally) forget(m *Moment, c Counter) {
	kept := c.kept(m)
	maps.DeleteFunc(t.seen, func(key [2]uint64, _ struct{}) bool { return key[0] == kept })
}

func (c Counter) kept(m *Moment) uint64 {
	if !c.keyed {
		return 0
	}
	return c.per.of(m)
}

func (t *tally) at(m *Moment, c Counter) *int {
	if !c.keyed {
		return &t.one
	}
	key := c.per.of(m)
	n := t.per[key]
	if n == nil {
		n = new(int)
		if t.per == nil {
			t.per = map[uint64]*int{}
		}
		t.per[key] = n
	}
	return n
}

func (t *tally) reset() {
	t.one = 0
	clear(t.per)
	clear(t.seen)
}
