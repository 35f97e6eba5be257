package scenario

import "fmt"

// Counter is a number that belongs to the run and starts at 0.
type Counter struct {
	name  string
	per   Key
	keyed bool
}

// Count is the counter with the given name.
func Count(name string) Counter { return Counter{name: name} }

// Per is the counter with a number of its own for each key. All uses of one name must
// agree on it.
func (c Counter) Per(key Key) Counter {
	c.per, c.keyed = key, true
	return c
}

// String is the counter's name, with what it is kept for.
func (c Counter) String() string {
	if c.keyed {
		return c.name + " per " + c.per.text
	}
	return c.name
}

// Incr counts one more.
func (c Counter) Incr() Action { return c.change("count "+c.String(), func(n *int) { *n++ }) }

// Reset sets the counter to 0.
func (c Counter) Reset() Action { return c.change("reset "+c.String(), func(n *int) { *n = 0 }) }

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

func (c Counter) change(text string, change func(*int)) Action {
	return Action{text: text, compile: func(b *compiler) act {
		number := b.counter(c, true)
		return func(m *Moment) bool {
			change(m.director.counters[number].at(m, c))
			return true
		}
	}}
}

// tally is a counter in a run.
type tally struct {
	one int
	per map[uint64]*int
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
}
