package isolation

import (
	"fmt"
	"slices"
	"sort"
)

// checker checks one history.
type checker struct {
	history []Txn
	level   Level
	keys    map[string]*key
	order   []*key // the keys by their first operation, so that results do not depend on the order of a map
	took    []bool // transactions that took effect
	live    int
	graph   graph
	named   map[string]bool // anomalies that were reported
	result  Result
}

// key is what the history says of one key.
type key struct {
	name     string
	list     bool
	writes   []write
	byValue  map[int]int32 // index in writes
	reads    []reading
	checked  []int // the longest list whose elements were checked, and these elements
	met      map[int]bool
	versions []int32 // the installed versions in their order, as indexes in writes, as far as it is known
}

// write is a value written to a key.
type write struct {
	txn     int32
	value   int
	last    bool // the transaction's last write to the key
	version int64
	at      int32 // position in versions, or -1
}

// reading is a read of what other transactions wrote.
type reading struct {
	txn   int32
	none  bool  // nothing was written
	value int   // the newest value read
	list  []int // all elements, if the key is a list
}

// collect registers writes and reads by key.
func (c *checker) collect() error {
	c.took = make([]bool, len(c.history))
	for i := range c.history {
		t := &c.history[i]
		if t.End < t.Start {
			return fmt.Errorf("isolation: transaction %d ends at %d, before its start at %d", i, t.End, t.Start)
		}
		c.took[i] = t.Outcome == Committed
		own := map[string][]int{} // values that the transaction wrote to a key
		for _, op := range t.Ops {
			k, err := c.key(op)
			if err != nil {
				return err
			}
			if op.Func != Append && op.Func != Write {
				continue
			}
			if w, ok := k.byValue[op.Value]; ok {
				return fmt.Errorf("isolation: transactions %d and %d both write %d to %s: values must differ",
					k.writes[w].txn, i, op.Value, k.name)
			}
			if earlier := own[k.name]; len(earlier) > 0 {
				k.writes[k.byValue[earlier[len(earlier)-1]]].last = false
			}
			own[k.name] = append(own[k.name], op.Value)
			k.byValue[op.Value] = int32(len(k.writes))
			k.writes = append(k.writes, write{int32(i), op.Value, true, op.Version, -1})
		}
		if t.Outcome == Committed {
			c.readings(int32(i), t)
		}
	}
	return nil
}

// key is the key of an operation.
func (c *checker) key(op Op) (*key, error) {
	list := op.Func == Append || op.Func == List
	k := c.keys[op.Key]
	if k == nil {
		k = &key{name: op.Key, list: list, byValue: map[int]int32{}, met: map[int]bool{}}
		c.keys[op.Key], c.order = k, append(c.order, k)
	}
	if k.list != list {
		return nil, fmt.Errorf("isolation: key %s is used both as a list and as a register", op.Key)
	}
	return k, nil
}

// seen is what a transaction knows of a key while its operations are read in order.
type seen struct {
	known bool  // the elements before the own ones are known
	none  bool  // a register had no value
	value int   // of a register
	base  []int // elements that others wrote
	own   []int // elements of its own, or its last write
}

// readings finds what a committed transaction read from others, and whether its own operations fit together.
func (c *checker) readings(i int32, t *Txn) {
	state := map[string]*seen{}
	for _, op := range t.Ops {
		k := c.keys[op.Key]
		s := state[op.Key]
		if s == nil {
			s = &seen{}
			state[op.Key] = s
		}
		switch op.Func {
		case Append:
			s.own = append(s.own, op.Value)
		case Write:
			s.own = []int{op.Value}
		case List:
			c.readList(i, k, s, op)
		case Read:
			c.readRegister(i, k, s, op)
		}
	}
}

func (c *checker) readList(i int32, k *key, s *seen, op Op) {
	base := op.List
	if n := len(base) - len(s.own); n >= 0 && slices.Equal(base[n:], s.own) {
		base = base[:n]
	} else {
		c.internal(i, op, fmt.Sprintf("it had appended %v itself", s.own))
		return
	}
	switch {
	case !s.known:
		s.known, s.base = true, base
		r := reading{txn: i, list: base, none: len(base) == 0}
		if len(base) > 0 {
			r.value = base[len(base)-1]
		}
		k.reads = append(k.reads, r)
	case !slices.Equal(base, s.base):
		c.internal(i, op, fmt.Sprintf("it had read %v before", s.base))
	}
}

func (c *checker) readRegister(i int32, k *key, s *seen, op Op) {
	switch {
	case len(s.own) > 0:
		if op.None || op.Value != s.own[0] {
			c.internal(i, op, fmt.Sprintf("it had written %d itself", s.own[0]))
		}
	case !s.known:
		s.known, s.none, s.value = true, op.None, op.Value
		k.reads = append(k.reads, reading{txn: i, none: op.None, value: op.Value})
	case s.none != op.None || s.value != op.Value:
		c.internal(i, op, "it had read something else before")
	}
}

func (c *checker) internal(i int32, op Op, why string) {
	c.report(SnapshotIsolation, Anomaly{Name: "internal", Txns: []int{int(i)},
		Text: fmt.Sprintf("T%d: %s, although %s", i, op, why)})
}

// report adds an anomaly, if the level rules it out and it is the first of its name.
func (c *checker) report(from Level, a Anomaly) {
	if c.level < from || c.named[a.Name] {
		return
	}
	c.named[a.Name] = true
	c.result.Anomalies = append(c.result.Anomalies, a)
}

// observe checks values that were read, finds the transactions without an answer that took effect, and orders versions.
func (c *checker) observe() {
	for _, k := range c.order {
		for i := range k.reads {
			c.observeRead(k, &k.reads[i])
		}
	}
	for _, took := range c.took {
		if took {
			c.live++
		}
	}
	for _, k := range c.order {
		if k.list {
			c.orderList(k)
		} else {
			c.orderRegister(k)
		}
	}
}

// observeRead checks the values of a read. The elements that a longer read of the key had too were checked before.
func (c *checker) observeRead(k *key, r *reading) {
	elements := r.list
	if !k.list && !r.none {
		elements = []int{r.value}
	}
	fresh, met := 0, map[int]bool{}
	if n := min(len(k.checked), len(elements)); k.list && slices.Equal(elements[:n], k.checked[:n]) {
		fresh, met = n, k.met
	}
	for _, v := range elements[fresh:] {
		w, ok := k.byValue[v]
		switch {
		case !ok:
			c.report(ReadUncommitted, Anomaly{Name: "unwritten", Txns: []int{int(r.txn)},
				Text: fmt.Sprintf("T%d read %d from %s, which no transaction wrote", r.txn, v, k.name)})
		case met[v]:
			c.report(ReadUncommitted, Anomaly{Name: "duplicate", Txns: []int{int(r.txn), int(k.writes[w].txn)},
				Text: fmt.Sprintf("T%d read %v from %s: %d is there twice", r.txn, elements, k.name, v)})
		default:
			c.observeWrite(k, &k.writes[w], r)
		}
		met[v] = true
	}
	if len(elements) > len(k.checked) && len(met) >= len(elements) {
		k.checked, k.met = elements, met
	}
	if n := len(elements); n > 0 {
		c.observeNewest(k, r, elements[n-1])
	}
}

// observeWrite checks a write that a committed transaction read.
func (c *checker) observeWrite(k *key, w *write, r *reading) {
	switch c.history[w.txn].Outcome {
	case Unknown:
		c.took[w.txn] = true
	case Aborted:
		c.report(ReadCommitted, Anomaly{Name: "G1a", Txns: []int{int(w.txn), int(r.txn)},
			Text: fmt.Sprintf("T%d read %d from %s, which T%d wrote and did not commit", r.txn, w.value, k.name, w.txn)})
	}
}

// observeNewest checks that the newest value of a read was its transaction's last one.
func (c *checker) observeNewest(k *key, r *reading, value int) {
	w, ok := k.byValue[value]
	if !ok {
		return
	}
	if writer := &k.writes[w]; !writer.last && writer.txn != r.txn {
		c.report(ReadCommitted, Anomaly{Name: "G1b", Txns: []int{int(writer.txn), int(r.txn)},
			Text: fmt.Sprintf("T%d read %d from %s, which T%d replaced before it committed", r.txn, value, k.name, writer.txn)})
	}
}

// orderList takes the order of a list's versions from its longest read. All other reads must be prefixes of it.
func (c *checker) orderList(k *key) {
	var longest *reading
	for i := range k.reads {
		if longest == nil || len(k.reads[i].list) > len(longest.list) {
			longest = &k.reads[i]
		}
	}
	if longest == nil {
		return
	}
	for i := range k.reads {
		r := &k.reads[i]
		if !slices.Equal(r.list, longest.list[:len(r.list)]) {
			c.report(ReadCommitted, Anomaly{Name: "incompatible-order", Txns: []int{int(r.txn), int(longest.txn)},
				Text: fmt.Sprintf("T%d read %v from %s and T%d read %v: neither is the beginning of the other",
					r.txn, r.list, k.name, longest.txn, longest.list)})
			return
		}
	}
	for _, v := range longest.list {
		k.install(v, c)
	}
}

// install makes a value the next version, if its transaction took effect.
func (k *key) install(value int, c *checker) {
	if w, ok := k.byValue[value]; ok && c.took[k.writes[w].txn] && k.writes[w].at < 0 {
		k.writes[w].at = int32(len(k.versions))
		k.versions = append(k.versions, w)
	}
}

// orderRegister orders the versions of a register by their numbers, if all of them have one.
func (c *checker) orderRegister(k *key) {
	var installed []int32
	for i := range k.writes {
		w := &k.writes[i]
		if !w.last || !c.took[w.txn] {
			continue
		}
		if w.version == 0 {
			return
		}
		installed = append(installed, int32(i))
	}
	sort.Slice(installed, func(a, b int) bool {
		return k.writes[installed[a]].version < k.writes[installed[b]].version
	})
	for _, w := range installed {
		k.install(k.writes[w].value, c)
	}
}
