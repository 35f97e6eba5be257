package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
)

// frameFor is a program whose single variable v starts as the expression under test.
const frameFor = `protocol T(n = 3, f = 1)
enum Color { red, green }
record Pair { a: int, b: seq<int> }
message M { k: int } tag (k, M)
rounds M
fun twice(x: int): int = 2 * x
fun largest(s: set<int>): int = max x in s
state {
	v: %s = %s
}
init { send M(1) to all }
upon M m do { }
`

// eval evaluates an expression of a type for every resolution of its choices.
func eval(typ, expr string) string {
	p, remarks := distal.Load(fmt.Sprintf(frameFor, typ, strings.TrimSpace(expr)))
	if p == nil {
		return remarks[0].Text + "\n"
	}
	m, err := machine.Compile(p.Program, nil)
	if err != nil {
		return err.Error() + "\n"
	}
	var out strings.Builder
	for o := range machine.Resolutions(func(c core.Chooser) machine.Outcome { return m.Start(1, c) }) {
		if o.Fault != nil {
			fmt.Fprintln(&out, "fault:", o.Fault.Text)
		} else {
			fmt.Fprintln(&out, strings.TrimPrefix(m.FormatState(o.State), "v="))
		}
	}
	return out.String()
}

// TestScripts evaluates expressions: `eval type=T`.
func TestScripts(t *testing.T) {
	datadriven.RunTest(t, "testdata/eval.txt", func(t *testing.T, d *datadriven.TestData) string {
		var typ string
		d.ScanArgs(t, "type", &typ)
		var out strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			out.WriteString(eval(typ, line))
		}
		return out.String()
	})
}

func TestCompileErrors(t *testing.T) {
	p, _ := distal.Load(fmt.Sprintf(frameFor, "int", "0"))
	for _, c := range []struct {
		params map[string]int64
		want   string
	}{
		{map[string]int64{"n": 0}, "n is 0"},
		{map[string]int64{"n": 17}, "n is 17"},
		{map[string]int64{"g": 1}, "no parameter g"},
	} {
		if _, err := machine.Compile(p.Program, c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.params, err, c.want)
		}
	}
}

// TestCompare checks that the order on values is total and agrees with the keys.
func TestCompare(t *testing.T) {
	var values []machine.Value
	for n := range int64(3) {
		values = append(values, machine.Value{N: n}, core.SomeOf(machine.Value{N: n}),
			machine.Value{E: []machine.Value{{N: n}, {N: 2 - n}}})
	}
	for _, a := range values {
		for _, b := range values {
			ab, ba := core.Compare(a, b), core.Compare(b, a)
			if ab != -ba {
				t.Errorf("Compare(%v, %v) = %d, the other way %d", a, b, ab, ba)
			}
			key := func(v machine.Value) string {
				return string((&machine.State{Vars: []machine.Value{v}}).AppendKey(nil))
			}
			if (ab == 0) != (key(a) == key(b)) {
				t.Errorf("keys of %v and %v do not agree with their order", a, b)
			}
			for _, c := range values {
				if ab <= 0 && core.Compare(b, c) <= 0 && core.Compare(a, c) > 0 {
					t.Errorf("not transitive: %v %v %v", a, b, c)
				}
			}
		}
	}
}

// compile makes a program ready to run with its defaults.
func compile(t *testing.T, src string) *machine.Program {
	t.Helper()
	m, remarks := distal.Compile(src, distal.Options{})
	if m == nil {
		t.Fatal(remarks)
	}
	return m
}

// TestGroups checks rules with times and same: distinct senders count, groups agree on the fields.
func TestGroups(t *testing.T) {
	m := compile(t, `protocol T(n = 4)
message M { k: int, v: int } tag (k, M)
rounds M
state { k: int = 1 x: int = 0 }
init { send M(k, 0) to all }
upon M ms with .v >= x same (.v) times >= 2 do { x := first(ms).v }
`)
	start := m.Start(1, nil).State
	tag := machine.Tag{Phase: 1}
	box := func(values ...int64) (out []machine.Message) {
		for i, v := range values {
			out = append(out, machine.Message{From: i + 1, Tag: tag, Fields: []machine.Value{{N: 1}, {N: v}}})
		}
		return out
	}
	for _, c := range []struct {
		mailbox []machine.Message
		senders []uint64
	}{
		{box(), nil},
		{box(5), nil},
		{box(5, 5), []uint64{0b11}},
		{box(5, 6, 5, 6), []uint64{0b0101, 0b1010}},
		{box(-1, -1, 7), nil},
		{append(box(5), box(5)...), nil}, // the same sender twice
	} {
		got, fault := m.Enabled(0, 1, start, tag, c.mailbox, true)
		if fault != nil || len(got) != len(c.senders) {
			t.Errorf("%v: %v, fault %v", c.mailbox, got, fault)
			continue
		}
		for i, b := range got {
			if b.Senders != c.senders[i] {
				t.Errorf("%v: group %d has senders %b, want %b", c.mailbox, i, b.Senders, c.senders[i])
			}
		}
	}
}

// TestStatesStay wants a state to stay as it is whatever an action writes, and to be the same one where it writes
// nothing: states are shared, and a caller that gets back the one it gave need not compare.
func TestStatesStay(t *testing.T) {
	m := compile(t, `protocol T(n = 2)
message M { k: int } tag (k, M)
rounds M
state { v: int = 1 w: seq<int> = [] }
output int
init { send M(1) to all }
action more(d: int) { v := v + d w := w + [v] }
upon M m with v == 1 do { more(1) more(v) if v == 4 { output v } }
upon M m with v == 2 do { if v == 3 { more(1) } }
upon M m with v == 3 do { v := 9 more(w[7]) }
`)
	start := m.Start(1, nil).State
	before := m.FormatState(start)
	for rule, want := range []string{"v=4 w=[2, 4] output=4", before, "v=9 w=[]"} {
		o := m.Fire(rule, 1, start, machine.Tag{Phase: 1}, machine.Value{N: 1, E: []machine.Value{{N: 1}}}, nil, nil)
		if got := m.FormatState(o.State); got != want || m.FormatState(start) != before || (o.Fault != nil) != (rule == 2) {
			t.Errorf("rule %d: %q, want %q, fault %v; it began with %q, now %q", rule, got, want, o.Fault, before,
				m.FormatState(start))
		}
		if same := o.State == start; same != (rule == 1) {
			t.Errorf("rule %d: the state is the same one: %v", rule, same)
		}
	}
}

// TestTry wants what was written before, in and after an attempt to be there when it succeeds, and only what was
// written in it to be gone when it does not.
func TestTry(t *testing.T) {
	m := compile(t, `lockstep protocol T(n = 2)
message M { k: int } tag (k, M)
message A { k: int } tag (k, A)
message B { k: int } tag (k, B)
message C { k: int } tag (k, C)
message D { k: int } tag (k, D)
rounds M < A < B < C < D from 1
state { x: int = 0 y: int = 0 }
round M {
	send { x := 1 try { } ensure true y := 2 }
	deliver
	update { x := 1 try { } ensure true }
}
round A {
	send { x := 1 try { x := 2 y := 3 } ensure true }
	deliver
	update { x := 1 try { x := 2 y := 3 } ensure false else { y := x } }
}
round B {
	send { try { x := 2 } ensure false y := 4 }
	deliver
	update { try { x := 2 } ensure false }
}
round C {
	send { try { x := 2 try { x := 3 } ensure false y := x } ensure x == 2 }
	deliver
	update { try { x := 2 try { x := 3 } ensure true y := x } ensure x == 2 }
}
round D {
	send { x := 5 try { try { x := 6 } ensure false } ensure true y := x }
	deliver
	update { x := 1 try { y := 1 / y } ensure true }
}
`)
	start := m.Start(1, nil).State
	for i, want := range []string{"x=1 y=2", "x=1 y=0", "x=2 y=3", "x=1 y=1", "x=0 y=4", "x=0 y=0", "x=2 y=2", "x=0 y=0",
		"x=5 y=5", "x=1 y=0"} {
		o := m.Block(machine.Half(i%2), 1, start, machine.Tag{Phase: 1, Round: i / 2}, nil, nil)
		if got := m.FormatState(o.State); got != want || m.FormatState(start) != "x=0 y=0" || (o.Fault != nil) != (i == 9) {
			t.Errorf("round %d, half %d: %s, want %s; fault %v", i/2, i%2, got, want, o.Fault)
		}
	}
}

func ExampleCompile() {
	p, _ := distal.Load(fmt.Sprintf(frameFor, "set<node>", "all - {node(f)}"))
	m, _ := machine.Compile(p.Program, map[string]int64{"n": 4, "f": 2})
	fmt.Println(m.FormatState(m.Start(1, nil).State))
	// Output: v={node(1), node(3), node(4)}
}

func ExampleResolutions() {
	p, _ := distal.Load(fmt.Sprintf(frameFor, "int", "choose({1, 2}) + choose({10, 20})"))
	m, _ := machine.Compile(p.Program, nil)
	for o := range machine.Resolutions(func(c core.Chooser) machine.Outcome { return m.Start(1, c) }) {
		fmt.Print(m.FormatState(o.State), " ")
	}
	fmt.Println()
	// Output: v=11 v=21 v=12 v=22
}
