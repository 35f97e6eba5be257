package spec_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// op is an operation on one register: a write of a value, or a read if it is 0.
type op int

func (o op) String() string {
	if o == 0 {
		return "read"
	}
	return fmt.Sprintf("write %d", int(o))
}

// register is the sequential register. A write is answered with its own value.
var register = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		after := state.(int)
		if o := int(input.(op)); o != 0 {
			after = o
		}
		if got, answered := output.(int); answered && got != after {
			return false, state
		}
		return true, after
	},
}

func call(client, id int, o op) lockstep.Event {
	return lockstep.Event{Type: spec.EventCall, Value: &spec.Call{Client: client, ID: id, Input: o}}
}

func answer(client, id, value int) lockstep.Event {
	return lockstep.Event{Type: spec.EventReturn, Value: &spec.Return{Client: client, ID: id, Output: value}}
}

// timed is an operation with the places of its call and return in the history.
type timed struct {
	op         op
	value      int
	start, end int // end -1: no answer
}

// explained searches all orders: it is the definition of linearizability.
func explained(ops []timed, state int) bool {
	done := true
	for i, o := range ops {
		if o.end >= 0 {
			done = false
		}
		first := true // no remaining operation returned before it was called
		for j, p := range ops {
			if j != i && p.end >= 0 && p.end < o.start {
				first = false
			}
		}
		if !first {
			continue
		}
		after := state
		if o.op != 0 {
			after = int(o.op)
		}
		if o.end >= 0 && o.value != after {
			continue
		}
		rest := append(append([]timed(nil), ops[:i]...), ops[i+1:]...)
		if explained(rest, after) {
			return true
		}
	}
	return done // an unanswered operation may never happen
}

// randomHistory draws a history of three clients with answers that are often right.
func randomHistory(r *rand.Rand) ([]lockstep.Event, []timed) {
	var events []lockstep.Event
	var ops []timed
	open := [3]int{-1, -1, -1}
	for range 9 {
		c := r.IntN(3)
		if i := open[c]; i >= 0 {
			ops[i].end = len(events)
			if ops[i].value = int(ops[i].op); ops[i].op == 0 {
				ops[i].value = r.IntN(3)
			}
			events = append(events, answer(c+1, i, ops[i].value))
			open[c] = -1
			continue
		}
		o := timed{op: op(r.IntN(3)), start: len(events), end: -1}
		open[c] = len(ops)
		events = append(events, call(c+1, len(ops), o.op))
		ops = append(ops, o)
	}
	return events, ops
}

// TestLinearizable compares with the definition on many small histories.
func TestLinearizable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s script
	var want []bool
	for range 2000 {
		events, ops := randomHistory(r)
		s, want = append(s, events), append(want, explained(ops, 0))
	}
	failed := map[int]bool{}
	for _, f := range checker(t, s, spec.Linearizable{Model: register}).Failures {
		failed[f.Run] = true
	}
	right := 0
	for i, ok := range want {
		if failed[i] == ok {
			t.Fatalf("history %d (%v): linearizable is %v, the spec says %v", i, s[i], ok, !failed[i])
		}
		if ok {
			right++
		}
	}
	if right < 200 || right > 1800 {
		t.Errorf("%d of 2000 histories are linearizable: the test says little", right)
	}
}

func TestUndecided(t *testing.T) {
	history := []lockstep.Event{
		call(1, 1, 1),
		answer(1, 1, 1),
		call(1, 2, 2),
		answer(1, 2, 2),
		call(2, 3, 0),
		answer(2, 3, 2),
	}
	r := checker(t, script{history, history[:4]}, spec.All(spec.Linearizable{Model: register, Steps: 2}))
	if r.Verdict() != trace.Unknown || r.Verdicts[trace.Unknown] != 1 || r.Verdicts[trace.Pass] != 1 {
		t.Errorf("verdicts %v: a history that is not checked is not a pass", r.Verdicts)
	}
	if n := r.Reasons["linearizability: 3 operations: not decided within 2 steps"]; n != 1 {
		t.Errorf("reasons %v", r.Reasons)
	}
}

// Two operations with one ID make answers ambiguous: no spec of histories checks such a run.
func TestReusedIDs(t *testing.T) {
	history := []lockstep.Event{call(1, 1, 1), answer(1, 1, 1), call(2, 1, 0), answer(2, 1, 0)}
	for name, s := range map[string]lockstep.Spec{
		"linearizability":        spec.Linearizable{Model: register},
		"sequential-consistency": spec.Sequential{Model: register},
	} {
		r := checker(t, script{history}, s)
		reason := name + ": the operations write 1 and read have the same ID, 1; " +
			"a run must give each operation one of its own"
		if r.Verdict() != trace.Unknown || r.Reasons[reason] != 1 {
			t.Errorf("%s: %v, %v", name, r.Verdicts, r.Reasons)
		}
	}
}

// A search that takes too many steps ends undecided; one that needs exactly the maximum does not.
func TestStepsOfLinearizable(t *testing.T) {
	var wrong []lockstep.Event // all orders of the writes are tried
	for i := 1; i <= 8; i++ {
		wrong = append(wrong, call(i, i, op(i)))
	}
	wrong = append(wrong, call(9, 9, 0), answer(9, 9, 99))
	right := []lockstep.Event{call(1, 1, 1), answer(1, 1, 1), call(1, 2, 2), answer(1, 2, 2)}
	for _, c := range []struct {
		steps   int
		history []lockstep.Event
		ops     int
		want    trace.Verdict
	}{
		{100, wrong, 9, trace.Unknown},
		{0, wrong, 9, trace.Fail},
		{1, right, 2, trace.Unknown},
		{2, right, 2, trace.Pass},
	} {
		r := checker(t, script{c.history}, spec.All(spec.Linearizable{Model: register, Steps: c.steps}))
		if r.Verdict() != c.want {
			t.Errorf("%d steps: %v, want %v", c.steps, r.Verdict(), c.want)
		}
		if text := fmt.Sprintf("linearizability: %d operations: not decided within %d steps", c.ops,
			c.steps); c.want == trace.Unknown &&
			r.Reasons[text] != 1 {
			t.Errorf("reasons %v", r.Reasons)
		}
	}
}

// long is a history of the given number of operations of one key: four clients at a time write, and one reads the
// last of these writes. With a wrong answer the last read sees the first write.
func long(ops int, wrong bool) (events []lockstep.Event) {
	id := 0
	for id < ops {
		var open []int
		for client := 1; client <= 4 && id < ops-1; client++ {
			id++
			open = append(open, id)
			events = append(events, call(client, id, op(id)))
		}
		for i, n := range open {
			events = append(events, answer(i+1, n, n))
		}
		id++
		read := id - 1
		if wrong && id >= ops {
			read = 1
		}
		events = append(events, call(5, id, 0), answer(5, id, read))
	}
	return events
}

// Histories of thousands of operations of one key are checked, and their violations are found; only the number of
// steps bounds that.
func TestLongHistories(t *testing.T) {
	for _, c := range []struct {
		ops   int
		wrong bool
		steps int
		want  trace.Verdict
	}{
		{2000, false, 0, trace.Pass},
		{2000, true, 0, trace.Fail},
		{10_000, false, 0, trace.Pass},
		{2000, false, 5000, trace.Unknown},
	} {
		r := checker(t, script{long(c.ops, c.wrong)}, spec.All(spec.Linearizable{Model: register, Steps: c.steps}))
		if r.Verdict() != c.want || r.Checked[0].N != 1 {
			t.Errorf("%+v: %v, checked %v, %v", c, r.Verdicts, r.Checked, r.Reasons)
		}
		if c.want == trace.Unknown &&
			r.Reasons["linearizability: 2000 operations: not decided within 5000 steps"] != 1 {
			t.Errorf("reasons %v", r.Reasons)
		}
	}
}

// A history without an answer has nothing to explain: no run could have failed, however long it is.
func TestUnansweredIsNotChecked(t *testing.T) {
	silent := []lockstep.Event{call(1, 1, 1), call(2, 2, 0), call(3, 3, 2)}
	for _, c := range []struct {
		runs script
		want int
	}{{script{nil, silent}, 0}, {script{nil, silent, {call(1, 1, 1), answer(1, 1, 1)}}, 1}} {
		r := checker(t, c.runs, spec.Linearizable{Model: register})
		if n := r.Checked[0].N; n != c.want || r.Verdict() != trace.Pass {
			t.Errorf("%d histories: checked %d times, want %d; %v", len(c.runs), n, c.want, r.Verdicts)
		}
	}
}

func TestPicture(t *testing.T) {
	r := checker(t, script{{call(1, 1, 1), answer(1, 1, 1), call(2, 2, 0), answer(2, 2, 0)}},
		spec.All(spec.Linearizable{Model: register}))
	f := r.First()
	if f == nil || len(f.Trace.Pictures) != 1 {
		t.Fatalf("found %+v", f)
	}
	if p := f.Trace.Pictures[0]; p.Name != "history.html" || !bytes.Contains(p.Data, []byte("<html")) {
		t.Errorf("picture %s of %d bytes", p.Name, len(p.Data))
	}
}

func ExampleLinearizable() {
	r := checker(&testing.T{}, script{{
		call(1, 1, 7), answer(1, 1, 7), // client 1 wrote 7 and got the answer
		call(2, 2, 0), answer(2, 2, 0), // then client 2 reads 0
	}}, spec.Linearizable{Model: register})
	fmt.Println(r.First().Finding)
	// Output: linearizability: no order of these operations explains the answers: write 7: 7 [1,2]; read: 0 [3,4]
}

// The finding names the steps in which its operations were called and answered.
func TestFindingNamesItsOperations(t *testing.T) {
	r := checker(t, script{{call(1, 1, 1), answer(1, 1, 1), call(2, 2, 0), answer(2, 2, 0)}},
		spec.Linearizable{Model: register})
	if f := r.First(); f == nil || !slices.Equal(f.Finding.About, []int{0}) {
		t.Errorf("%+v is not about the start, where everything happened", f)
	}
}
