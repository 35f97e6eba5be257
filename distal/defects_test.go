package distal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/async"
	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// two is the start of a program with two rounds.
const two = `protocol P(n = 3)
message A { k: int, v: int } tag (k, A)
message B { k: int, v: int } tag (k, B)
rounds A < B
phase k
state {
	k: int = 0
	x: int = 0
	who: set<node>
}
output int
`

// status finds what is known about a condition for a rule.
func status(t *testing.T, src, rule string, c core.Condition) check.Status {
	t.Helper()
	p, remarks := distal.Load(src)
	if p == nil {
		t.Fatal(remarks)
	}
	for _, q := range p.Proofs {
		if q.Rule == rule && q.Condition == c {
			return q.Status
		}
	}
	t.Fatalf("nothing is known about %s", rule)
	return 0
}

// TestNotProved has for every condition programs that break it in ways that were once taken for proofs.
func TestNotProved(t *testing.T) {
	const start = "upon timeout do { k := k + 1 send A(k, x) to all }\n"
	const last = "upon B m with m.k == k and timely do { x := m.v }\n"
	for name, c := range map[string]struct {
		src, rule string
		condition core.Condition
		want      check.Status
	}{
		"received through an action, in a plain timeout": {"action look() { x := len(received(A)) }\nupon timeout do { look() k := k + 1 send A(k, x) to all }\n" +
			"upon A m with m.k > k do { k := m.k send B(k, x) to all }\n" + last, "upon timeout", core.Reads, check.Refuted},
		"received through an action, in init": {"action look() { x := len(received(A)) }\ninit { look() }\n" + start +
			"upon A m with m.k > k do { k := m.k send B(k, x) to all }\n" + last, "init", core.Reads, check.Refuted},
		"a change in the second pass of a loop": {start +
			"upon A m with m.k > k do { k := m.k for p in all { x := x + 1 send B(k, x) to p } }\n" + last,
			"upon A", core.Rests, check.Refuted},
		"a change by an action in a loop": {"action bump() { x := x + 1 }\n" + start +
			"upon A m with m.k > k do { k := m.k for p in all { bump() send B(k, x) to p } }\n" + last, "upon A", core.Rests,
			check.Refuted},
		"the phase moves in a loop": {start +
			"upon A m with m.k > k do { k := m.k let j = k for p in who { k := k + 1 } send B(j, x) to all }\n" + last,
			"upon A", core.Carries, check.Watched},
		"the phase moves in an action in a loop": {"action bump() { k := k + 1 }\n" + start +
			"upon A m with m.k > k do { k := m.k let j = k for p in who { bump() } send B(j, x) to all }\n" + last, "upon A",
			core.Carries, check.Watched},
		"nested loops": {start +
			"upon A m with m.k > k do { k := m.k for q in all { for p in all { send B(k, x) to p } } }\n" + last,
			"upon A", core.Once, check.Watched},
		"a loop in an action that is called twice": {"action tell() { for p in all { send B(k, x) to p } }\n" + start +
			"upon A m with m.k > k do { k := m.k tell() tell() }\n" + last, "upon A", core.Once, check.Watched},
		"one node twice in a sequence": {start +
			"upon A m with m.k > k do { k := m.k for p in [self, self] { send B(k, x) to p } }\n" + last,
			"upon A", core.Once, check.Watched},
		"a round of the phase into which the node jumps": {start +
			"upon A m with m.k == k do { k := k + 2 send B(k, x) to all }\n" + last,
			"upon A", core.Current, check.Watched},
	} {
		if got := status(t, two+c.src, c.rule, c.condition); got != c.want {
			t.Errorf("%s: %s is %s, want %s", name, c.condition, got, c.want)
		}
	}
	good := two + start + "upon A m with m.k > k do { k := m.k for p in all { send B(k, x) to p } }\n" + last
	if got := status(t, good, "upon A", core.Once); got != check.Proved {
		t.Errorf("a loop over a set, to one element each: %s", got)
	}
}

// TestFirstPhases wants a violation found whatever phase a program begins with, and the same one.
func TestFirstPhases(t *testing.T) {
	const src = `protocol P(n = 2)
message Go { era: int } tag (era, Go)
rounds Go
phase era
state { era: int = %d }
output int
init { send Go(era) to all }
upon Go ms with .era == era times all do { output era }
property Never: forall p in all: p.output == none
`
	for _, first := range []int{1, 0, -3, 12} {
		r, remarks := distal.Explore(fmt.Sprintf(src, first), distal.ExploreOptions{})
		if len(remarks.Errors()) > 0 || r.Verdict != explore.Fail || r.Violation.Phase != first || !r.Replayed ||
			len(r.Claims.Watched) > 0 {
			t.Errorf("from %d: %s %+v %v", first, r.Verdict, r.Violation, remarks)
		}
		p, _ := distal.Compile(fmt.Sprintf(src, first), distal.Options{})
		in := async.RandomRun(p, async.Weights{Deliver: 1}, 20, 1)
		if len(in.Breaches()) > 0 || in.Broken() != "Never" {
			t.Errorf("from %d: %v, broken %q", first, in.Breaches(), in.Broken())
		}
	}
}

// TestVacuity wants a search in which nothing happens to say so.
func TestVacuity(t *testing.T) {
	const src = two +
		"upon timeout with k > 5 do { k := k + 1 send A(k, x) to all }\nupon A m with m.k > k do { k := m.k send B(k, x) to all }\n" +
		"upon B m with m.k == k and timely do { x := m.v }\nproperty Fine: forall p in all: p.x == 0\n"
	r, remarks := distal.Explore(src, distal.ExploreOptions{})
	if r.Verdict != explore.Vacuous || len(r.Never) != 3 || len(r.Silent) != 3 {
		t.Errorf("%+v %v", r.Result, remarks)
	}
	r, _ = distal.Explore(strings.Replace(src, "with k > 5", "with k < 2", 1), distal.ExploreOptions{})
	if r.Verdict != explore.Pass || len(r.Never) != 0 || fmt.Sprint(r.Silent) != "[3]" {
		t.Errorf("%+v", r.Result)
	}
}

// TestClocks wants plain timeouts and those of different rounds without priority, and the first of the text within a
// round; the search and the asynchronous machine must agree.
func TestClocks(t *testing.T) {
	const src = two + `init { send A(k, x) to all }
upon A m with m.k == k and m.v > 9 do { x := 9 }
upon timeout in (k, A) with x < 5 do { x := 1 }
upon timeout in (k, A) do { output 2 }
upon timeout do { k := k + 1 send A(k, 3) to all }
upon timeout do { k := k + 1 send B(k, 4) to all }
upon B m with m.k == k do { output m.v }
property No: on output v: v != %d
`
	for value, found := range map[int]bool{2: false, 4: true} {
		r, remarks := distal.Explore(fmt.Sprintf(src, value),
			distal.ExploreOptions{Options: distal.Options{Timeouts: "free", Phases: 2}})
		if len(remarks.Errors()) > 0 || (r.Verdict == explore.Fail) != found || found && !r.Replayed {
			t.Errorf("output %d: %s %+v %v", value, r.Verdict, r.Violation, remarks)
		}
		p, _ := distal.Compile(fmt.Sprintf(src, value), distal.Options{})
		met := false
		for seed := range uint64(300) {
			met = met || async.RandomRun(p, async.Weights{Deliver: 1, Drop: 1, Timeout: 2}, 12, seed).Breaks("No")
		}
		if met != found {
			t.Errorf("output %d: asynchronous runs find it: %v", value, met)
		}
	}
}

// TestEmptyReceivers wants a send to no node to move the node like any other.
func TestEmptyReceivers(t *testing.T) {
	const src = two + `upon timeout do { k := k + 1 x := x + 1 send A(k, x) to who }
upon A m with m.k == k do { x := 5 }
upon B m with m.k == k do { x := 7 }
init { send B(k, x) to others }
property Few: forall p in all: p.x < 3
`
	if got := status(t, src, "upon timeout", core.Rests); got != check.Proved {
		t.Errorf("condition 5 of the timeout is %s", got)
	}
	r, remarks := distal.Explore(src, distal.ExploreOptions{Options: distal.Options{Phases: 4}})
	if r.Verdict != explore.Fail || !r.Replayed {
		t.Errorf("%s %+v %v %s", r.Verdict, r.Violation, remarks, r.Reason)
	}
}

// TestOutputMoment wants outputs to be checked when they are made, everywhere.
func TestOutputMoment(t *testing.T) {
	const src = two +
		"init { send A(k, 1) to all }\nupon A m with m.k == k do { x := 1 output 1 x := 2 }\nupon timeout with k > 50 do { k := k + 1 send B(k, 1) to all }\nupon B m with m.k == k and timely do { x := 0 }\n" +
		"property Then: on output v: v == self.x\nproperty Before: on output v: self.output == none\n"
	p, remarks := distal.Compile(src, distal.Options{})
	if p == nil {
		t.Fatal(remarks)
	}
	if in := async.RandomRun(p, async.Weights{Deliver: 1}, 20, 1); in.Breaks("Then") || in.Breaks("Before") {
		t.Error("the output is checked too late")
	}
	if r, _ := distal.Explore(src, distal.ExploreOptions{}); r.Verdict == explore.Fail {
		t.Errorf("%+v", r.Violation)
	}
}

// TestRefusedCounts wants a count that speaks of the counted messages to be an error, not a crash.
func TestRefusedCounts(t *testing.T) {
	for _, count := range []string{".v", "len(ms)", "first(ms).v"} {
		_, remarks := distal.Check(two + "init { send A(k, 1) to all }\nupon A ms with .k == k times >= " + count +
			" do { x := 1 }\n")
		if len(remarks.Errors()) == 0 {
			t.Errorf("times >= %s is accepted", count)
		}
	}
}

// TestDoublingActions wants work to be bounded, and the limit to be said.
func TestDoublingActions(t *testing.T) {
	tier.NotShort(t)
	var b strings.Builder
	b.WriteString(two +
		"init { a0() send A(k, x) to all }\nupon A m with m.k == k do { x := 1 }\nupon B m with m.k == k do { x := 2 }\nupon timeout with x > 5 do { k := k + 1 send B(k, 1) to all }\n")
	for i := range 40 {
		fmt.Fprintf(&b, "action a%d() { a%d() a%d() }\n", i, i+1, i+1)
	}
	b.WriteString("action a40() { x := 1 }\n")
	c, remarks := distal.Check(b.String())
	watched := 0
	for _, q := range c.Conditions {
		if strings.Contains(q.Text, "too long to follow") {
			watched++
		}
	}
	if watched != 6 {
		t.Errorf("%d conditions of init are watched: %v", watched, remarks)
	}
	everyVerb(b.String())
	r, _ := distal.Explore(b.String(), distal.ExploreOptions{})
	if r.Violation == nil || r.Violation.Property != "fault" ||
		!strings.Contains(r.Violation.Text, "more than 50000 steps") || r.Violation.Pos.Line == 0 {
		t.Errorf("%s %+v", r.Verdict, r.Violation)
	}
}

// TestPlaces wants faults and breaches to keep line and column.
func TestPlaces(t *testing.T) {
	src := two +
		"init { send A(k, 1) to all }\nupon A m with m.k == k do { x := 1 / x }\nupon timeout with k > 50 do { k := k + 1 send B(k, 1) to all }\nupon B m with m.k == k and timely do { x := 0 }\n"
	r, _ := distal.Explore(src, distal.ExploreOptions{})
	if r.Violation == nil || r.Violation.Pos.String() != "13:36" || !r.Replayed {
		t.Errorf("%+v %s", r.Violation, r.Reason)
	}
}

// TestForgetting wants mailboxes not to grow with the length of a run.
func TestForgetting(t *testing.T) {
	p, _ := distal.Compile(two+`init { send A(k, 1) to all }
upon A ms with .k == k and timely times >= 2 do { x := len(ms) send B(k, x) to all }
upon B ms with .k == k and timely times >= 2 do { k := k + 1 send A(k, x) to all }
`, distal.Options{})
	in := async.RandomRun(p, async.Weights{Deliver: 3, Double: 1}, 5000, 1)
	if in.Tag(1).Phase < 20 {
		t.Fatalf("the run came to %v only", in.Tag(1))
	}
	for i := 1; i <= 3; i++ {
		if in.Mailbox(i) > 40 {
			t.Errorf("node %d keeps %d messages", i, in.Mailbox(i))
		}
	}
}

// TestMiddle wants a property of one node to be checked also between the halves of a round.
func TestMiddle(t *testing.T) {
	const src = two + `upon timeout do { k := k + 1 x := 9 send A(k, x) to all }
upon A m with m.k == k and timely do { x := 0 send B(k, x) to all }
upon B m with m.k == k and timely do { x := 0 }
property Small: forall p in all: p.x < 9
`
	r, _ := distal.Explore(src, distal.ExploreOptions{Options: distal.Options{Network: "reliable", Timeouts: "eager",
		Phases: 1}})
	if r.Verdict != explore.Fail || r.Violation.RoundName != "A" || !r.Replayed {
		t.Errorf("%s %+v", r.Verdict, r.Violation)
	}
}

// TestRanges wants what leaves a declared range to be a fault with its place, in every reader.
func TestRanges(t *testing.T) {
	for typ, fault := range map[string]bool{"int": false, "int(0..3)": false, "int(0..2)": true, "int(n..2 * n)": true,
		"set<int(0..2)>": true, "seq<int(0..3)>": false} {
		value := map[bool]string{true: "x", false: "x"}[fault]
		start := "0"
		switch {
		case strings.HasPrefix(typ, "set"):
			start, value = "{}", "{x}"
		case strings.HasPrefix(typ, "seq"):
			start, value = "[]", "[x]"
		case strings.Contains(typ, "n.."):
			start = "n"
		}
		src := strings.Replace(two, "	who: set<node>", "	y: "+typ+" = "+start, 1) +
			"init { send A(k, 3) to all }\nupon A m with m.k == k do { x := m.v y := " + value +
			" }\nupon timeout with k > 50 do { k := k + 1 send B(k, 1) to all }\nupon B m with m.k == k and timely do { x := 0 }\n"
		if strings.Contains(typ, "n..") {
			src = strings.Replace(src, "send A(k, 3)", "send A(k, 2)", 1)
		}
		r, remarks := distal.Explore(src, distal.ExploreOptions{})
		if len(remarks.Errors()) > 0 || (r.Verdict == explore.Fail) != fault || fault &&
			!strings.Contains(r.Violation.Text, "outside the declared range") {
			t.Errorf("%s: %s %+v %v", typ, r.Verdict, r.Violation, remarks)
		}
	}
	if _, remarks := distal.Check(strings.Replace(two, "x: int = 0", "x: int(3) = 0",
		1)); !strings.Contains(remarks.Error(), "low..high") {
		t.Error(remarks)
	}
	p, _ := distal.Load(strings.Replace(two, "x: int = 0", "x: int(0..1 / (n - 3)) = 0", 1) +
		"init { send A(k, 1) to all }\nupon A m with m.k == k do { x := 1 }\nupon timeout with k > 50 do { k := k + 1 send B(k, 1) to all }\nupon B m with m.k == k and timely do { x := 0 }\n")
	if _, err := machine.Compile(p.Program, nil); err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Error(err)
	}
}

// TestBrokenStart wants a violation at the start, reached by one choice of several, to be reported with its place.
func TestBrokenStart(t *testing.T) {
	src := strings.Replace(two, "x: int = 0", "x: int = 6 / choose({2, 1, 0})", 1) +
		"init { send A(k, 1) to all }\nupon A m with m.k == k do { x := 1 }\n" +
		"upon timeout with k > 50 do { k := k + 1 send B(k, 1) to all }\nupon B m with m.k == k and timely do { x := 0 }\n"
	r, _ := distal.Explore(src, distal.ExploreOptions{})
	if r.Violation == nil || r.Violation.Property != "fault" || r.Violation.Pos.String() != "8:13" || !r.Replayed {
		t.Errorf("%s %+v %s", r.Verdict, r.Violation, r.Reason)
	}
}

// TestBackwardTimeout wants a plain timeout that sends into a round that is over to be found by the search, though it
// belongs to no round of it.
func TestBackwardTimeout(t *testing.T) {
	const src = `protocol P(n = 2)
message A { j: int } tag (j, A)
rounds A
state { j: int = 1 x: int = 0 }
init { send A(j) to all }
upon A m with timely and m.j > x do { x := m.j send A(m.j + 1) to all }
upon timeout with x > 2 do { send A(x - 1) to all }
`
	if got := status(t, src, "upon timeout", core.Grows); got != check.Watched {
		t.Fatalf("condition 1 is %s", got)
	}
	for _, timeouts := range []string{"free", "eager"} {
		r, remarks := distal.Explore(src, distal.ExploreOptions{Options: distal.Options{Phases: 5, Timeouts: timeouts}})
		if r.Verdict != explore.Fail || r.Violation.Property != "condition 1" || r.Violation.Pos.Line != 7 || !r.Replayed {
			t.Errorf("%s: %s %+v %v %s", timeouts, r.Verdict, r.Violation, remarks, r.Reason)
		}
	}
}
