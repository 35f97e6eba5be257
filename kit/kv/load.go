package kv

import (
	"fmt"
	"strconv"
	"strings"
)

// Source is where draws come from: a *rand.Rand, or what a deployment draws from.
type Source interface{ IntN(n int) int }

// Load is what clients do.
type Load struct {
	// Clients is the number of clients, each with one request at a time.
	Clients int
	// Requests is the number of operations of each client.
	Requests int
	// Keys is the number of keys they work on.
	Keys int
	// Mix says which operations they draw; the zero value is [Mixed].
	Mix Mix
}

// Check reports what is out of bounds.
func (l Load) Check() error {
	for _, f := range []struct {
		name      string
		v, lo, hi int
	}{{"clients", l.Clients, 0, MaxClients}, {"requests", l.Requests, 1, MaxRequests}, {"keys", l.Keys, 1, MaxKeys}} {
		if f.v < f.lo || f.v > f.hi {
			return fmt.Errorf("%s is %d, allowed are %d..%d", f.name, f.v, f.lo, f.hi)
		}
	}
	return nil
}

// Mix is the weights by which clients draw operations. Every value is written once only,
// unless the mix is [Binary].
type Mix struct {
	Put, Get, Cas, Append, Delete, Txn int
	// Binary is read, write 0 and write 1 with equal chances, whatever the weights.
	Binary bool
}

// The mixes that have names.
var (
	// Mixed is put and get with 4 chances in 10 each, and cas with 2.
	Mixed = Mix{Put: 4, Get: 4, Cas: 2}
	// Binary is read, write 0 and write 1 with equal chances, as in Example 3.3 of "Why Is
	// Random Testing Effective for Partition Tolerance Bugs?".
	Binary = Mix{Binary: true}
)

// weights lists the weights by name, in the order in which they are drawn.
func (m *Mix) weights() [6]struct {
	name   string
	weight *int
} {
	return [6]struct {
		name   string
		weight *int
	}{{"put", &m.Put}, {"get", &m.Get}, {"cas", &m.Cas}, {"append", &m.Append}, {"delete", &m.Delete}, {"txn", &m.Txn}}
}

// String is the name of the mix, or the weights: "put:1,append:2".
func (m Mix) String() string {
	switch m {
	case Mix{}, Mixed:
		return "mixed"
	case Binary:
		return "binary"
	}
	var parts []string
	for _, w := range m.weights() {
		if *w.weight != 0 {
			parts = append(parts, w.name+":"+strconv.Itoa(*w.weight))
		}
	}
	return strings.Join(parts, ",")
}

// UnmarshalText reads what String writes.
func (m *Mix) UnmarshalText(text []byte) error {
	switch *m = (Mix{}); string(text) {
	case "mixed":
		return nil
	case "binary":
		*m = Binary
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		if err := m.set(part); err != nil {
			return err
		}
	}
	return nil
}

// set reads one weight.
func (m *Mix) set(part string) error {
	name, number, _ := strings.Cut(part, ":")
	for _, w := range m.weights() {
		if k, err := strconv.Atoi(number); name == w.name && err == nil && k > 0 && k <= 1000 {
			*w.weight = k
			return nil
		}
	}
	return fmt.Errorf("the mix must be mixed, binary, or weights such as put:2,get:3,cas:1,append:1,delete:1,txn:1 of "+
		"1..1000, and %q is none of these", part)
}

// draw draws the operations of a client.
func (l *Load) draw(r Source, ops []Op, client int) []Op {
	mix := l.Mix
	if mix == (Mix{}) {
		mix = Mixed
	}
	for i := range l.Requests {
		o := Op{Client: client, Seq: uint16(i + 1)}
		o.Key = uint8(r.IntN(l.Keys))
		if mix.Binary {
			drawBinary(r, &o.Act)
		} else {
			l.drawMixed(r, &o, mix, i)
		}
		ops = append(ops, o)
	}
	return ops
}

// drawBinary draws among read, write 0 and write 1.
func drawBinary(r Source, a *Act) {
	if k := r.IntN(3); k == 2 {
		a.Kind = Get
	} else {
		a.Value = int32(k)
	}
}

// drawMixed draws a client's i-th operation by weight.
func (l *Load) drawMixed(r Source, o *Op, mix Mix, i int) {
	k := r.IntN(mix.Put + mix.Get + mix.Cas + mix.Append + mix.Delete + mix.Txn)
	kind := Put
	for _, w := range mix.weights() {
		if k -= *w.weight; k < 0 {
			break
		}
		kind++
	}
	o.Txn = kind == kinds // the weight after those of single acts
	if o.Txn {
		kind = [...]Kind{Get, Cas}[r.IntN(2)]
		o.Also = Act{Key: uint8(r.IntN(l.Keys)), Value: -l.valueOf(o.Client, i)}
	}
	if o.Kind = kind; kind != Get && kind != Delete {
		o.Value = l.valueOf(o.Client, i)
	}
	if kind == Cas {
		if other := r.IntN(l.Clients + 1); other > 0 { // a value that some node may have put
			o.Old = l.valueOf(other, r.IntN(l.Requests))
		}
	}
}

// valueOf is the value that the i-th operation of a client writes; no other writes it.
func (l *Load) valueOf(client, i int) int32 {
	scale := 100
	if l.Requests >= scale {
		scale = perClient
	}
	return int32(client*scale + i + 1)
}
