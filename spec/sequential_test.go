package spec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// keyed is an operation on one of two registers.
type keyed struct {
	key int
	op
}

func (k keyed) String() string { return fmt.Sprintf("%v of %d", k.op, k.key) }

// registers has a state for each register.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, 2)
		for _, o := range history {
			k := o.Input.(keyed).key
			parts[k] = append(parts[k], o)
		}
		return parts
	},
	Init: register.Init,
	Step: func(state, input, output any) (bool, any) { return register.Step(state, input.(keyed).op, output) },
}

// operation is an operation of a history for the definition.
type operation struct {
	client, key int
	op          op
	value       int
	answered    bool
}

// inSomeOrder searches all orders: it is the definition of sequential consistency. Operations are in the order of their
// calls. If strict, unanswered operations keep it, too.
func inSomeOrder(ops []operation, done []bool, state [2]int, strict bool) bool {
	all := true
	for i, o := range ops {
		if done[i] {
			continue
		}
		all = all && !o.answered
		first := true // among the answered operations of its client
		for j := range i {
			first = first && (done[j] || ops[j].client != o.client || !ops[j].answered)
		}
		for j := i + 1; j < len(ops); j++ {
			first = first && !(strict && done[j] && ops[j].client == o.client)
		}
		if !first {
			continue
		}
		after := state
		if o.op != 0 {
			after[o.key] = int(o.op)
		}
		if o.answered && o.value != after[o.key] {
			continue
		}
		done[i] = true
		found := inSomeOrder(ops, done, after, strict)
		done[i] = false
		if found {
			return true
		}
	}
	return all // an unanswered operation may never happen
}

// randomKeyed draws a history of three clients on two registers.
func randomKeyed(r *rand.Rand) ([]lockstep.Event, []operation) {
	var events []lockstep.Event
	var ops []operation
	open := [3]int{-1, -1, -1}
	for range 12 {
		c := r.IntN(3)
		if i := open[c]; i >= 0 {
			open[c] = -1
			if r.IntN(8) == 0 {
				continue // the client continues without an answer
			}
			ops[i].answered = true
			if ops[i].value = int(ops[i].op); ops[i].op == 0 {
				ops[i].value = r.IntN(3)
			}
			events = append(events, answer(c+1, i, ops[i].value))
			continue
		}
		o := operation{client: c, key: r.IntN(2), op: op(r.IntN(3))}
		open[c] = len(ops)
		events = append(
			events,
			lockstep.Event{
				Type:  spec.EventCall,
				Value: &spec.Call{Client: c + 1, ID: len(ops), Input: keyed{o.key, o.op}},
			},
		)
		ops = append(ops, o)
	}
	return events, ops
}

// TestSequential compares with the definition on many small histories. Linearizable histories are sequentially
// consistent; some histories are so only for each register alone.
func TestSequential(t *testing.T) {
	tier.NotShort(t)
	const histories = 4000
	r := rand.New(rand.NewPCG(3, 4))
	var s script
	var want, ordered []bool
	apart := 0
	for range histories {
		events, ops := randomKeyed(r)
		ok := inSomeOrder(ops, make([]bool, len(ops)), [2]int{}, false)
		ordered = append(ordered, inSomeOrder(ops, make([]bool, len(ops)), [2]int{}, true))
		s, want = append(s, events), append(want, ok)
		each := true
		for key := range 2 {
			var some []operation
			for _, o := range ops {
				if o.key == key {
					some = append(some, o)
				}
			}
			each = each && inSomeOrder(some, make([]bool, len(some)), [2]int{}, false)
		}
		if each && !ok {
			apart++
		}
	}
	sequential, reads, linearizable, inOrder := map[int]bool{}, map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, f := range checker(t, s, spec.Sequential{Model: registers, InOrder: true}).Failures {
		inOrder[f.Run] = true
	}
	for _, f := range checker(t, s, spec.Sequential{Model: registers}).Failures {
		sequential[f.Run] = true
	}
	for _, f := range checker(t, s,
		spec.Sequential{Model: registers, ReadOnly: func(input any) bool { return input.(keyed).op == 0 }}).Failures {
		reads[f.Run] = true
	}
	for _, f := range checker(t, s, spec.Linearizable{Model: registers}).Failures {
		linearizable[f.Run] = true
	}
	right, between, lost := 0, 0, 0
	for i, ok := range want {
		if inOrder[i] == ordered[i] {
			t.Fatalf("history %d (%v): where all keep their order it is right: %v, the spec says %v", i, s[i],
				ordered[i], !inOrder[i])
		}
		if ok && !ordered[i] {
			lost++
		}
		if sequential[i] == ok || reads[i] == ok {
			t.Fatalf("history %d (%v): sequentially consistent is %v, the spec says %v and, knowing reads, %v", i, s[i],
				ok, !sequential[i], !reads[i])
		}
		if !linearizable[i] && sequential[i] {
			t.Fatalf("history %d (%v) is linearizable but not sequentially consistent", i, s[i])
		}
		if ok {
			right++
		}
		if ok && linearizable[i] {
			between++
		}
	}
	if right < histories/10 || right > histories*9/10 || between < 100 || apart < 10 || lost < 5 {
		t.Errorf(
			"%d of %d histories are right, %d of them not linearizable, %d wrong only together, %d only in order: the test "+
				"says little",
			right,
			histories,
			between,
			apart,
			lost,
		)
	}
}

// Beyond its limits the spec reports that it is undecided.
func TestSequentialUndecided(t *testing.T) {
	history := []lockstep.Event{
		call(1, 1, 1),
		answer(1, 1, 1),
		call(1, 2, 2),
		answer(1, 2, 2),
		call(2, 3, 0),
		answer(2, 3, 2),
	}
	for _, c := range []struct {
		spec spec.Sequential
		want string
	}{
		{spec.Sequential{Model: register, Attempts: 2}, "sequential-consistency: not decided within 2 attempts"},
	} {
		r := checker(t, script{history, history[:2]}, c.spec)
		if r.Verdict() != trace.Unknown || r.Verdicts[trace.Unknown] != 1 || r.Reasons[c.want] != 1 ||
			r.Checked[0].N != 1 {
			t.Errorf("verdicts %v, reasons %v, checked %v; want %s", r.Verdicts, r.Reasons, r.Checked, c.want)
		}
	}
}

// A history without an answer has nothing to explain.
func TestSequentialUnanswered(t *testing.T) {
	r := checker(t, script{{call(1, 1, 1), call(2, 2, 0)}}, spec.Sequential{Model: register})
	if r.Verdict() != trace.Pass || r.Checked[0].N != 0 {
		t.Errorf("verdicts %v, checked %v", r.Verdicts, r.Checked)
	}
}

// Long histories of clients that read old states are decided at once.
func TestSequentialLong(t *testing.T) {
	var events []lockstep.Event
	id := 0
	do := func(client int, o op, value int) {
		id++
		events = append(events, call(client, id, o), answer(client, id, value))
	}
	for i := 1; i <= 40; i++ {
		do(1, op(i), i)
		for client := 2; client <= 4; client++ {
			do(client, 0, max(0, i-client)) // client i lags by i operations
		}
	}
	wrong := append(append([]lockstep.Event(nil), events...), call(2, 1000, 0), answer(2, 1000, 1)) // and goes back
	r := checker(t, script{events, wrong},
		spec.Sequential{Model: register, ReadOnly: func(input any) bool { return input.(op) == 0 }})
	if r.Verdicts[trace.Pass] != 1 || r.Verdicts[trace.Fail] != 1 || r.First().Run != 1 {
		t.Errorf("verdicts %v, reasons %v", r.Verdicts, r.Reasons)
	}
}

// copies is a system that is sequentially consistent but not linearizable. Node 1 orders all writes, and the others
// follow, on links that keep the order. The client of each node reads that node's own replica, and its write is
// answered when the replica has it. With early set, the write is answered at once; then the system is not even
// sequentially consistent.
type copies struct {
	self  lockstep.Node
	early bool
	value int
	ops   int // of its client
	busy  bool
}

// update is a write in transit to node 1, or from there with its position.
type update struct {
	origin lockstep.Node
	value  int
}

func (n *copies) Start(*sim.Context[update])   {}
func (n *copies) Timeout(*sim.Context[update]) {}
func (n *copies) Reset()                       { *n = copies{self: n.self, early: n.early} }

func (n *copies) Request(c *sim.Context[update], id int32, text string) {
	if n.busy {
		return // its client has one operation at a time
	}
	n.ops++
	if text == "read" {
		n.call(c, 0)
		n.answer(c, n.value)
		return
	}
	n.call(c, op(id))
	n.busy = true
	if n.early {
		n.answer(c, int(id))
	}
	if n.self == 1 {
		n.order(c, update{1, int(id)})
	} else {
		c.Send(1, update{n.self, int(id)})
	}
}

func (n *copies) Receive(c *sim.Context[update], from lockstep.Node, u update) {
	if n.self == 1 {
		n.order(c, u)
	} else {
		n.apply(c, u)
	}
}

func (n *copies) order(c *sim.Context[update], u update) {
	n.apply(c, u)
	for to := lockstep.Node(2); to <= 3; to++ {
		c.Send(to, u)
	}
}

func (n *copies) apply(c *sim.Context[update], u update) {
	n.value = u.value
	if u.origin == n.self && n.busy {
		n.answer(c, u.value)
	}
}

func (n *copies) id() int { return int(n.self)*1000 + n.ops }

func (n *copies) call(c *sim.Context[update], o op) {
	c.Emit(spec.EventCall, &spec.Call{Client: int(n.self), ID: n.id(), Input: o})
}

func (n *copies) answer(c *sim.Context[update], value int) {
	n.busy = false
	c.Emit(spec.EventReturn, &spec.Return{Client: int(n.self), ID: n.id(), Output: value})
}

// A sequentially consistent system satisfies that spec and violates the stronger one. A system that satisfies neither
// is detected.
func TestSequentialSystem(t *testing.T) {
	reads := func(input any) bool { return input.(op) == 0 }
	for _, c := range []struct {
		early bool
		spec  lockstep.Spec
		want  trace.Verdict
	}{
		{false, spec.Sequential{Model: register, ReadOnly: reads}, trace.Pass},
		{false, spec.Linearizable{Model: register}, trace.Fail},
		{true, spec.Sequential{Model: register, ReadOnly: reads}, trace.Fail},
	} {
		system := sim.Cluster[update]{
			Name:     "copies",
			Nodes:    3,
			FIFO:     true,
			Requests: []string{"read", "write"},
			Repeat:   10,
			New: func(self lockstep.Node, _ int) sim.Node[update] {
				n := &copies{self: self, early: c.early}
				return sim.With(n, sim.Capabilities[update]{Reset: n.Reset})
			},
		}
		r, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{
				System:    system,
				Strategy:  strategy.Walk{Deliver: 3, Request: 1, Steps: 80},
				Spec:      c.spec,
				Runs:      500,
				KeepGoing: true,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict() != c.want || r.Checked[0].N < 400 {
			t.Errorf("early=%v, %v: %v, checked %v", c.early, c.spec.Properties(), r.Verdicts, r.Checked)
		}
	}
}

func ExampleSequential() {
	history := script{{
		call(1, 1, 7), answer(1, 1, 7), // client 1 wrote 7 and got the answer
		call(2, 2, 0), answer(2, 2, 0), // then client 2 reads 0: it is behind
		call(2, 3, 0), answer(2, 3, 7), // and now it is up to date
	}}
	for _, promised := range []lockstep.Spec{spec.Linearizable{Model: register}, spec.Sequential{Model: register}} {
		r := checker(&testing.T{}, history, promised)
		fmt.Println(strings.Join(promised.Properties(), ""), r.Verdict())
	}
	history[0] = append(history[0], call(2, 4, 0), answer(2, 4, 0)) // client 2 goes back
	fmt.Println(checker(&testing.T{}, history, spec.Sequential{Model: register}).First().Finding)
	// Output:
	// linearizability fail
	// sequential-consistency pass
	// sequential-consistency: no order that keeps each client's own explains the answers: write 7: 7 [1,2]; read: 0 [3,4]; read: 7 [5,6]; read: 0 [7,8]
}
