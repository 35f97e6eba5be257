package kv_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

func act(kind kv.Kind, key uint8, value, old int32) kv.Act {
	return kv.Act{Kind: kind, Key: key, Value: value, Old: old}
}

func op(client, seq int, a kv.Act) kv.Op { return kv.Op{Client: client, Seq: uint16(seq), Act: a} }

func newMap() *kv.Map {
	m := &kv.Map{}
	m.Reset(2, 2)
	return m
}

// The map does what its operations say, each once.
func TestMap(t *testing.T) {
	m := newMap()
	move := op(1, 5, act(kv.Cas, 0, 9, 6))
	move.Txn, move.Also = true, act(kv.Put, 1, 8, 0)
	again := move
	again.Seq = 6
	for i, c := range []struct {
		op   kv.Op
		want string // the result and the map
	}{
		{op(1, 1, act(kv.Put, 0, 5, 0)), "is 5; a=5"},
		{op(2, 1, act(kv.Cas, 0, 6, 4)), "refused, is 5; a=5"},
		{op(2, 2, act(kv.Cas, 0, 6, 5)), "is 6; a=6"},
		{op(1, 1, act(kv.Put, 0, 5, 0)), "is 5; a=6"}, // a second time
		{op(1, 2, act(kv.Get, 0, 0, 0)), "is 6; a=6"},
		{op(1, 3, act(kv.Append, 1, 7, 0)), "is 0 7; a=6 b=0 7"},
		{op(1, 4, act(kv.Append, 1, 3, 0)), "is 0 7 3; a=6 b=0 7 3"},
		{op(2, 3, act(kv.Cas, 1, 1, 0)), "refused, is 0 7 3; a=6 b=0 7 3"}, // not what it was once
		{move, "is 9 and 8; a=9 b=8"},
		{again, "refused, is 9 and 8; a=9 b=8"},
		{op(1, 8, act(kv.Delete, 0, 0, 0)), "is 0; b=8"},
		{op(3, 1, act(kv.Put, 0, 1, 0)), "refused, is 0; b=8"}, // no such client
		{op(1, 9, act(kv.Put, 5, 1, 0)), "refused, is 0; b=8"}, // no such key
	} {
		o, ok := kv.Decode(c.op.Encode(nil))
		if !ok || o != c.op {
			t.Errorf("%v became %v, %v", c.op, o, ok)
		}
		r := m.Apply(o)
		if got := r.String() + ";" + m.String(); got != c.want {
			t.Errorf("%d %s: %s, want %s", i, &c.op, got, c.want)
		}
	}
}

// Bytes that are no operation are refused, and none of them panics.
func TestDecode(t *testing.T) {
	good := op(1, 1, act(kv.Put, 0, 5, 0)).Encode(nil)
	for i := range len(good) {
		for b := range 256 {
			bad := slices.Clone(good)
			bad[i] = byte(b)
			if o, ok := kv.Decode(bad); ok && !slices.Equal(o.Encode(nil), bad) {
				t.Errorf("%v became %+v", bad, o)
			}
		}
	}
	for k := range 30 {
		if _, ok := kv.Decode(make([]byte, k)); ok {
			t.Errorf("%d zeros are an operation", k)
		}
	}
}

func TestSnapshot(t *testing.T) {
	m, again := newMap(), newMap()
	m.Apply(op(2, 4, act(kv.Put, 1, -7, 0)))
	m.Apply(op(2, 5, act(kv.Append, 1, 8, 0)))
	data := m.Snapshot(nil)
	if err := again.Restore(data); err != nil || again.Hash() != m.Hash() || again.String() != m.String() {
		t.Errorf("%s became %s, %v", m, again, err)
	}
	if again.Apply(op(2, 5, act(kv.Append, 1, 8, 0))); again.String() != m.String() || !again.Done(2, 5) ||
		again.Done(1, 1) {
		t.Error("the snapshot lost a session: an operation took effect twice")
	}
	for k := range data {
		if err := again.Restore(data[:k]); err == nil || again.String() != "" {
			t.Errorf("%d of %d bytes became %s, %v", k, len(data), again, err)
		}
	}
	if err := again.Restore(append(data, 0)); err == nil {
		t.Error("a byte too many is not noticed")
	}
}

// Every change of the state changes the hash.
func TestHash(t *testing.T) {
	seen := map[uint64]string{}
	for _, o := range []kv.Op{{}, op(1, 1, act(kv.Put, 0, 1, 0)), op(1, 1, act(kv.Put, 1, 1, 0)),
		op(1, 2, act(kv.Put, 0, 1, 0)), op(2, 1, act(kv.Put, 0, 1, 0)),
		op(1, 1, act(kv.Append, 0, 1, 0)), op(1, 1, act(kv.Append, 0, 11, 0)), op(1, 1, act(kv.Get, 0, 0, 0)),
		op(1, 1, act(kv.Cas, 0, 1, 5))} {
		m := newMap()
		m.Apply(o)
		if other, ok := seen[m.Hash()]; ok {
			t.Errorf("%q and %q have one hash", o.String(), other)
		}
		seen[m.Hash()] = o.String()
	}
}

// sink writes down what clients do there.
type sink struct {
	pending []trace.Pending
	events  []lockstep.Event
}

func (s *sink) Offer(p trace.Pending) { s.pending = append(s.pending, p) }
func (s *sink) Withdraw(id int32) {
	s.pending = slices.DeleteFunc(s.pending, func(p trace.Pending) bool { return p.ID == id })
}
func (s *sink) Event(e lockstep.Event) { s.events = append(s.events, e) }

func (s *sink) give(i int) int32 {
	id := s.pending[i].ID
	s.pending = slices.Delete(s.pending, i, i+1)
	return id
}

// A client retries until it is answered, is called once and answered once for each operation,
// and has one operation at a time.
func TestClients(t *testing.T) {
	var d sink
	c := kv.NewClients(kv.Load{Clients: 2, Requests: 3, Keys: 2}, 3)
	c.Begin(rand.New(rand.NewPCG(1, 1)), &d)
	if len(d.pending) != 2 || d.pending[0].To != trace.AllNodes(3) {
		t.Fatalf("at first %v are offered", d.pending)
	}
	id := d.give(0)
	o, try := c.Given(id)
	if !c.Has(id) || c.Has(3) || c.Has(kv.Numbers) || o.Client != 1 || o.Seq != 1 || try != 1 || len(d.events) != 1 {
		t.Errorf("request %d is %+v at its try %d, with events %v", id, o, try, d.events)
	}
	c.Offer(o)
	o, try = c.Given(d.give(1))
	if o.Seq != 1 || try != 2 || len(d.events) != 1 {
		t.Errorf("again: %+v, try %d, events %v", o, try, d.events)
	}
	c.Offer(o)
	c.Answer(2, 1, 1, kv.Result{OK: true})
	c.Answer(3, 1, 1, kv.Result{}) // too late
	answered, all := c.Answered()
	if r, ok := d.events[len(d.events)-1].Value.(*spec.Return); !ok || len(d.events) != 2 || r.ID != int(id) ||
		answered != 1 || all != 6 || len(d.pending) != 2 {
		t.Errorf("events %v, %d of %d answered, %v offered", d.events, answered, all, d.pending)
	}
	if c.Wait(1, 1) != nil || c.Wait(1, 2) == nil {
		t.Error("the client does not wait for its second operation")
	}
	c.Offer(o) // of an operation that is over
	c.GiveUp(1, 2)
	if answered, _ := c.Answered(); answered != 2 || len(d.pending) != 2 || c.Wait(1, 3) == nil {
		t.Errorf("after giving up %d are done with, %v offered", answered, d.pending)
	}
}

// What an event reports stays as it was when its client continues: traces are written later.
func TestEventsLast(t *testing.T) {
	var d sink
	c := kv.NewClients(kv.Load{Clients: 1, Requests: 3, Keys: 2}, 3)
	c.Begin(rand.New(rand.NewPCG(1, 1)), &d)
	var reported []string
	for range 3 {
		o, _ := c.Given(d.give(0))
		reported = append(reported, fmt.Sprint(d.events[len(d.events)-1].Value))
		c.Answer(1, 1, o.Seq, kv.Result{OK: true, Value: kv.Value{Number: o.Value}})
		reported = append(reported, fmt.Sprint(d.events[len(d.events)-1].Value))
	}
	for i, e := range d.events {
		if now := fmt.Sprint(e.Value); now != reported[i] {
			t.Errorf("event %d was %q, and is %q now", i, reported[i], now)
		}
	}
}

// Operations come by their weights, and every value is written once.
func TestMix(t *testing.T) {
	const requests = 900
	for text, want := range map[string][6]int{
		"mixed":                       {4, 4, 2, 0, 0, 0},
		"put:1,append:3":              {1, 0, 0, 3, 0, 0},
		"put:1,get:1,cas:1,txn:1":     {1, 1, 1, 0, 0, 1},
		"get:2,cas:1,append:1,put:10": {10, 2, 1, 1, 0, 0},
		"put:2,delete:1":              {2, 0, 0, 0, 1, 0},
	} {
		var mix kv.Mix
		if err := mix.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		var got [6]int
		values := map[int32]bool{}
		for _, o := range drawn(kv.Load{Clients: 1, Requests: requests, Keys: 3, Mix: mix}) {
			kind := int(o.Kind)
			if o.Txn {
				kind = 5
			}
			got[kind]++
			if o.Writes() && o.Kind != kv.Get && o.Kind != kv.Delete {
				if values[o.Value] {
					t.Errorf("%s: %d is written twice", text, o.Value)
				}
				values[o.Value] = true
			}
		}
		sum := want[0] + want[1] + want[2] + want[3] + want[4] + want[5]
		for k := range want {
			if mean := requests * want[k] / sum; got[k] < mean*4/5-9 || got[k] > mean*6/5+9 {
				t.Errorf("%s: kind %d was drawn %d times of %d, want about %d", text, k, got[k], requests, mean)
			}
		}
	}
}

func drawn(l kv.Load) (ops []kv.Op) {
	var d sink
	c := kv.NewClients(l, 1)
	c.Begin(rand.New(rand.NewPCG(7, 7)), &d)
	for len(d.pending) > 0 {
		o, _ := c.Given(d.give(0))
		ops = append(ops, *o)
		c.Answer(1, o.Client, o.Seq, kv.Result{})
	}
	return ops
}

func TestMixText(t *testing.T) {
	for _, text := range []string{"mixed", "binary", "put:2,get:3,cas:1,append:1,delete:1,txn:1"} {
		var m kv.Mix
		if err := m.UnmarshalText([]byte(text)); err != nil || m.String() != text {
			t.Errorf("%s became %s, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "even", "put", "put:0", "put:x", "put:1001", "remove:1", "put:1;get:1"} {
		var m kv.Mix
		if err := m.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "the mix must be") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := (kv.Load{Clients: 17, Requests: 1, Keys: 1}).Check(); err == nil ||
		err.Error() != "clients is 17, allowed are 0..16" {
		t.Error(err)
	}
}

// The model is the map: short histories are explained by it if and only if some order of
// the operations explains them, found by trying all.
func TestModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	good := 0
	for range 4000 {
		history := randomHistory(r)
		want, got := true, true
		for _, part := range kv.Model.Partition(history) {
			m := kv.Model
			m.Partition = nil
			want, got = want && explained(part, newMap(), 0), got && porcupine.CheckOperations(m, part)
		}
		if got != want || !revised(history) && want != explained(history, newMap(), 0) {
			t.Fatalf("%v: linearizable is %v, by trying all orders %v", history, got, want)
		}
		if want {
			good++
		}
	}
	if good < 400 || good > 3600 {
		t.Errorf("%d of 4000 histories are linearizable: too few of one kind", good)
	}
}

// What no node can have noticed is left out, and that changes no verdict.
func TestNoticed(t *testing.T) {
	tier.NotShort(t)
	r := rand.New(rand.NewPCG(5, 5))
	good, less := 0, 0
	for range 20_000 {
		history := unanswered(r, randomHistory(r))
		whole := kv.Model
		whole.Partition = nil
		parts := kv.Linearizable.Model.Partition(history)
		for i, part := range kv.Model.Partition(history) {
			want := porcupine.CheckOperations(whole, part)
			if got := porcupine.CheckOperations(whole, parts[i]); got != want {
				t.Fatalf("%v: linearizable is %v, and %v is %v", part, want, parts[i], got)
			}
			if len(parts[i]) < len(part) {
				less++
				good += oneIf(want)
			}
		}
	}
	if good < less/10 || good > less*9/10 || less < 1000 {
		t.Errorf("of %d histories with less than there was %d are linearizable: too few of one kind", less, good)
	}
}

// unanswered takes the answers of some operations away, whose clients then do no more, and adds others that never had
// one.
func unanswered(r *rand.Rand, history []porcupine.Operation) []porcupine.Operation {
	more := randomHistory(r)
	for i := range more {
		more[i].ClientId += 2
	}
	history = append(history, more...)
	for i := range history {
		if more := i >= 4; more && r.IntN(4) > 0 || !more && r.IntN(5) == 0 {
			history[i].Output, history[i].Return = spec.Unanswered{}, math.MaxInt64
		}
	}
	return history
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Many clients that gave up make no history undecided, if what they wrote was never read.
func TestManyGaveUp(t *testing.T) {
	var history []porcupine.Operation
	for i := range int64(60) {
		put := op(1, 1, act(kv.Put, 0, int32(100+i), 0))
		history = append(history, porcupine.Operation{Input: &put, Output: spec.Unanswered{}, Call: 3 * i,
			Return: math.MaxInt64})
	}
	for i, number := range []int32{0, 101, 0} { // there, and gone again
		get := op(2, 2, act(kv.Get, 0, 0, 0))
		history = append(history, porcupine.Operation{ClientId: 1, Input: &get,
			Output: &kv.Result{OK: true, Value: kv.Value{Number: number}},
			Call:   int64(200 + 2*i), Return: int64(201 + 2*i)})
	}
	parts := kv.Linearizable.Model.Partition(history)
	if len(parts) != 1 || len(parts[0]) != 4 {
		t.Fatalf("%v", parts)
	}
	m := kv.Model
	m.Partition = nil
	if porcupine.CheckOperations(m, parts[0]) {
		t.Error("what was put is gone, and no node deleted it")
	}
}

// revised reports whether some answer has a revision: those go beyond a key.
func revised(history []porcupine.Operation) bool {
	return slices.ContainsFunc(history, func(o porcupine.Operation) bool { return o.Output.(*kv.Result).Revision != 0 })
}

// randomHistory is four operations of two clients, one after the other each, with answers
// that are right at some point or made up.
func randomHistory(r *rand.Rand) []porcupine.Operation {
	var history []porcupine.Operation
	m := newMap()
	for i := range 4 {
		o := op(i%2+1, i/2+1, act(kv.Kind(r.IntN(5)), uint8(r.IntN(2)), int32(1+r.IntN(2)), int32(r.IntN(2))))
		if r.IntN(3) == 0 {
			o.Txn, o.Also = true, act(kv.Put, uint8(r.IntN(2)), int32(1+r.IntN(2)), 0)
		}
		call := int64(10*(i/2) + r.IntN(5))
		result := m.Apply(o)
		if r.IntN(4) == 0 {
			result.Value.Number++
		}
		if r.IntN(3) == 0 {
			result.Revision = int64(1 + r.IntN(3))
		}
		history = append(history, porcupine.Operation{ClientId: o.Client - 1, Input: &o, Output: &result, Call: call,
			Return: call + int64(1+r.IntN(4))})
	}
	return history
}

// explained reports whether some order explains the answers, the last of which had a revision.
func explained(left []porcupine.Operation, m *kv.Map, revision int64) bool {
	for i, o := range left {
		if slices.ContainsFunc(left, func(p porcupine.Operation) bool { return p.Return < o.Call }) {
			continue
		}
		next := newMap()
		if err := next.Restore(m.Snapshot(nil)); err != nil {
			panic(err)
		}
		reported := *o.Output.(*kv.Result)
		least := revision // that it may have
		if reported.Revision == 0 {
			reported.Revision, least = revision, 0
		}
		at := reported.Revision
		reported.Revision = 0
		if next.Apply(*o.Input.(*kv.Op)) != reported || least > 0 && next.String() != m.String() && at == least ||
			at < least {
			continue
		}
		if rest := slices.Delete(slices.Clone(left), i, i+1); len(rest) == 0 || explained(rest, next, at) {
			return true
		}
	}
	return false
}

// An answer must not be of an older state than those that were given before its operation began.
func TestRevisions(t *testing.T) {
	call := func(id int, a kv.Act) lockstep.Event {
		o := op(1, id, a)
		return lockstep.Event{Type: spec.EventCall, Value: &spec.Call{Client: 1, ID: id, Input: &o}}
	}
	answer := func(id int, revision int64) lockstep.Event {
		return lockstep.Event{Type: spec.EventReturn, Value: &spec.Return{Client: 1, ID: id,
			Output: &kv.Result{OK: true, Revision: revision}}}
	}
	put, get, remove := act(kv.Put, 0, 1, 0), act(kv.Get, 1, 0, 0), act(kv.Delete, 1, 0, 0)
	for _, c := range []struct {
		name    string
		events  enginetest.Prepared
		want    string
		checked int
	}{
		{"in order", enginetest.Prepared{call(1, put), answer(1, 5), call(2, get), answer(2, 5), call(3, put), answer(3, 6),
			call(4, remove), answer(4, 6)}, "", 3},
		{"at once", enginetest.Prepared{call(1, put), call(2, get), answer(1, 5), answer(2, 4)}, "", 0},
		{"not reported", enginetest.Prepared{call(1, put), answer(1, 5), call(2, get), answer(2, 0)}, "", 0},
		{"an old read", enginetest.Prepared{call(1, put), answer(1, 5), call(2, get), answer(2, 4)},
			"c1 get b was answered at revision 4; before it began, revision 5 had been answered", 1},
		{"two writes", enginetest.Prepared{call(1, put), answer(1, 5), call(2, put), answer(2, 5)},
			"c1 put a=1 was answered at revision 5; before it began, revision 5 had been answered", 1},
	} {
		r := enginetest.Explore(t, lockstep.Plan{System: c.events, Strategy: strategy.Walk{Request: 1}, Spec: kv.Revisions,
			Runs: 1, MaxSteps: 1})
		got := ""
		if f := r.First(); f != nil {
			got = f.Finding.Text
		}
		if got != c.want || r.Checked[0].N != c.checked {
			t.Errorf("%s: %q, checked %v, want %q, %d", c.name, got, r.Checked, c.want, c.checked)
		}
	}
}

func ExampleMap() {
	var m kv.Map
	m.Reset(2, 1)
	o := kv.Op{Client: 1, Seq: 1, Act: kv.Act{Kind: kv.Put, Key: 1, Value: 3}}
	r := m.Apply(o)
	fmt.Println(&o, &r, m.String())
	// Output: c1 put b=3 is 3  b=3
}

func ExampleClients() {
	var d sink
	c := kv.NewClients(kv.Load{Clients: 1, Requests: 2, Keys: 1}, 3)
	c.Begin(rand.New(rand.NewPCG(1, 2)), &d)
	o, _ := c.Given(d.give(0)) // a request step
	c.Offer(o)                 // the client may time out
	c.Answer(2, o.Client, o.Seq, kv.Result{OK: true})
	fmt.Println(d.events[0].Value, "|", d.events[1].Value, "|", d.pending[0].Text)
	// Output: c1 get a | c1 is 0 | c1 get a
}
