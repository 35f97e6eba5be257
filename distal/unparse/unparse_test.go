package unparse_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/distal/unparse"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// again searches a program and its printed sequential form, read again.
func again(t *testing.T, src string, opt distal.Options) {
	t.Helper()
	built, phases, remarks := distal.NewModel(src, opt)
	if built == nil {
		t.Fatal(remarks)
	}
	printed, _ := distal.Seq(src, opt)
	if f, errs := distal.Fmt(printed.Text); f.Changed || len(errs) > 0 {
		t.Fatalf("not in canonical form: %v\n%s", errs, printed.Text)
	}
	reread, _, remarks := distal.NewModel(printed.Text, distal.Options{Nodes: opt.Nodes, Phases: opt.Phases,
		Test: opt.Test, Params: opt.Params})
	if reread == nil {
		t.Fatalf("%v\n%s", remarks, printed.Text)
	}
	// nodes are proved to be alike in programs with rules only
	limit := explore.Options{Phases: phases, Memory: 64 << 20, Whole: true}
	a, err := explore.Exhaustive(built, limit)
	b, err2 := explore.Exhaustive(reread, limit)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if a.Verdict != b.Verdict || !slices.Equal(a.Levels, b.Levels) || a.Transitions != b.Transitions {
		t.Errorf("built: %s %v, read again: %s %v\n%s", a.Verdict, a.Levels, b.Verdict, b.Levels, printed.Text)
	}
	if x, y := way(a.Violation), way(b.Violation); x != y {
		t.Errorf("built: %s\nread again: %s", x, y)
	}
	if twice, _ := distal.Seq(printed.Text, distal.Options{Nodes: opt.Nodes, Test: opt.Test,
		Params: opt.Params}); twice.Text != printed.Text {
		t.Errorf("printing twice changes the program:\n%s\n%s", printed.Text, twice.Text)
	}
}

// way writes everything about a violation in which two programs can agree: all but names of actions and places in the
// text.
func way(v *explore.Violation) string {
	if v == nil {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s in phase %d, round %d, %d active: %s", v.Property, v.Phase, v.Round, v.ActiveRounds,
		v.Text[strings.Index(v.Text, ":")+1:])
	for _, s := range v.Start {
		fmt.Fprintf(&out, " %x", s.AppendKey(nil))
	}
	for _, row := range v.Trace {
		fmt.Fprintf(&out, "\n%v", row.Tag)
		for _, c := range row.Nodes {
			fmt.Fprintf(&out, " %b %x %v", c.Received, c.State.AppendKey(nil), c.Out)
		}
	}
	return out.String()
}

// TestExamples wants the printed sequential program to be the program that is searched.
func TestExamples(t *testing.T) {
	tier.NotShort(t)
	for _, p := range corpus.Examples(t) {
		checked, _ := distal.Load(p.Source)
		for _, test := range checked.Tests {
			for _, timeouts := range []string{"eager", "free"} {
				t.Run(p.Name+" "+test.Name+" "+timeouts, func(t *testing.T) {
					again(t, p.Source, distal.Options{Test: test.Name, Phases: min(2, test.Phases), Timeouts: timeouts})
				})
			}
		}
	}
}

func TestGenerated(t *testing.T) {
	tier.NotShort(t)
	for _, p := range corpus.Generated(150) {
		t.Run(p.Name, func(t *testing.T) { again(t, p.Source, distal.Options{}) })
	}
}

var wild = flag.Int("wild", 150, "how many wild programs to try")

// sequentialForm says whether a program has a sequential form.
func sequentialForm(src string) bool {
	p, _ := distal.Load(src)
	return p != nil && len(p.Refused) == 0
}

// TestWild does the same for programs with everything the language has, each under its own network.
func TestWild(t *testing.T) {
	programs := corpus.Wild(0, *wild, sequentialForm)
	for _, p := range programs {
		t.Run(p.Name, func(t *testing.T) { again(t, p.Source, distal.Options{Phases: 1 + len(p.Name)%2}) })
	}
	if len(programs) < *wild/4 {
		t.Errorf("only %d programs of %d", len(programs), *wild)
	}
}

// TestNames wants new names to stay clear of those of the program.
func TestNames(t *testing.T) {
	again(t, `protocol P(n = 2, due = 1)
record DueA { whom: int, m: int }
message A { k: int, whom: int, whom_: DueA } tag (k, A)
rounds A
state { k: int = 1 due_A: int = 0 due_A_2: int = 0 matching: bool = true one: int = 0 sent: int = 0 old: int = 0 }
action onA(m: int) { due_A := m }
init { send A(k, 1, DueA(1, 2)) to all send A(k + 1, 2, DueA(1, 2)) to all }
upon A m with m.k == k do { onA(m.whom) let q = one + sent + old + due k := k + 1 due_A_2 := q }
network Given: forall p in all: p in heard(p)
property P1: forall k in all: k.k < 9
`, distal.Options{Network: "forall p, q in all: p in heard(q)"})
}

func ExampleProgram() {
	p,
		_ := distal.Load("protocol P(n = 2)\nmessage A { k: int } tag (k, A)\nrounds A\nstate { k: int = 1 }\ninit { send " +
		"A(k) to all }\nupon A m with m.k == k do { k := k + 1 }\n")
	text := unparse.Program(sequential.Build(p, core.Eager, 1))
	fmt.Println(strings.Split(text, "\n")[0])
	// Output: lockstep protocol P(n = 2)
}
