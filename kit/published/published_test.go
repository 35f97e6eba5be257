package published_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/kit/published"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// row is a row of which one of three runs has a finding, as a spec by the number of the run says.
func row(name string, runs, found int) published.Row {
	return published.Row{
		Table: "1",
		Name:  name,
		Runs:  runs,
		Cells: []published.Cell{{Name: "prefix", Published: float64(found)}, {Name: "steps", Published: 3, Mean: true},
			{Name: "other", Ours: true}},
		Plan: lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix, Seed: 1,
			Strategy: strategy.Uniform{Period: 4, Isolations: 4, Rounds: 16}},
		Count: func(r *lockstep.Result) []float64 {
			return append(published.Violations("prefix")(r), float64(r.Steps)/float64(r.Runs), 0)
		},
	}
}

// A row is measured, and compared with the published figures by exact intervals.
func TestMeasure(t *testing.T) {
	for found, want := range map[int]string{0: "agrees", 1000: "differs: prefix"} {
		m, err := published.Measure(t.Context(), row("r", 1000, found), 50, 0)
		if err != nil || m.N != 50 || m.Values[1] == 0 {
			t.Fatalf("%+v, %v", m, err)
		}
		var b bytes.Buffer
		published.Head(&b)
		m.Write(&b)
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[2], "| r | prefix, steps, other | ") ||
			!strings.HasSuffix(lines[2], "| "+want+" |") ||
			strings.Count(lines[0], "|") != strings.Count(lines[2], "|") {
			t.Errorf("%d of 1000 published: %s", found, b.String())
		}
		if got := m.Agrees(1) && m.Agrees(2); !got {
			t.Error("a mean or a figure of ours alone differs")
		}
	}
	if _, err := published.Measure(t.Context(), published.Row{Name: "none"}, 1, 0); err == nil ||
		!strings.HasPrefix(err.Error(), "none: ") {
		t.Errorf("error %v", err)
	}
	m, err := published.Measure(t.Context(), row("r", 1000, 0), 0, time.Millisecond)
	if err != nil || m.N >= 1<<20 {
		t.Errorf("a limited row: %+v, %v", m, err)
	}
}

// Rows and scenarios are found by name, and unknown names are refused.
func TestFind(t *testing.T) {
	rows := []published.Row{row("a", 1, 0), row("b", 1, 0)}
	for _, c := range []struct {
		names []string
		want  int
		wrong string
	}{{nil, 2, ""}, {[]string{"b"}, 1, ""}, {[]string{"b", "c"}, 0, `unknown row "c": one of a, b`}} {
		found, err := published.Find(rows, c.names...)
		if len(found) != c.want || (err == nil) != (c.wrong == "") || err != nil && err.Error() != c.wrong {
			t.Errorf("%v: %d rows, %v", c.names, len(found), err)
		}
	}
	table := published.Table{Cases: []published.Case{{Name: "x"}, {Name: "y"}}}
	if got, err := table.Find("y"); err != nil || len(got.Cases) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := table.Find("z"); err == nil || err.Error() != `unknown scenario "z": one of x, y` {
		t.Errorf("error %v", err)
	}
}

// loses is a scenario that loses all messages of the first round; the published form has one filter more.
func loses(ours bool) *scenario.Scenario {
	sc := scenario.New("loses").Faults(lockstep.Budget{Losses: lockstep.Unlimited})
	sc.Machine().On(scenario.Did(trace.Drop), "lost").MarkSuccess().EndRun()
	sc.If(scenario.IsSend(), scenario.Type("Prepare")).Named("lose").Then(scenario.Drop())
	if !ours {
		sc.If(scenario.IsReceive()).Named("count").Then(scenario.Count("received").Incr())
	}
	return sc
}

// A scenario is measured with our filters, with the published ones, and without faults.
func TestTable(t *testing.T) {
	table := published.Table{
		Title: "smr",
		Cases: []published.Case{{Name: "loses", Starred: true, Build: loses, Filters: 2, States: 2, Lines: 20,
			Published: 50}},
		Source: "package p\n\nfunc loses() {\n}\n\nfunc more() {\n}\n",
		Plan: func(sc *scenario.Scenario, runs int, seed uint64) lockstep.Plan {
			return lockstep.Plan{System: smr.Cluster{Nodes: 3}, Scenario: sc,
				Strategy: strategy.Walk{Deliver: 1, Timer: 1, Steps: 200},
				Runs:     runs, Seed: seed, KeepGoing: true}
		},
		Helpers: map[string][]string{"loses": {"more"}},
	}
	var b bytes.Buffer
	holds, err := table.Write(t.Context(), &b, 5, 1)
	if err != nil || !holds || !strings.Contains(b.String(), "loses* ") ||
		!strings.Contains(b.String(), "100% [48-100]") ||
		!strings.Contains(b.String(), "2/1") || !strings.Contains(b.String(), "20/4") {
		t.Errorf("%v, %v: %s", holds, err, b.String())
	}
	o, err := table.Measure(t.Context(), table.Cases[0], 5, 1)
	if err != nil || o.Ours.Successes != 5 || o.Plain.Successes != 5 || o.Control.Successes != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	b.Reset()
	if err := table.Ablate(t.Context(), &b, 5, 1); err != nil || !strings.Contains(b.String(), "lose") {
		t.Errorf("%v: %s", err, b.String())
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := table.Measure(stopped, table.Cases[0], 5, 1); err == nil {
		t.Error("an interrupted campaign has a rate")
	}
}

// Figures of a deterministic system that does not repeat its runs hold for nothing, and the tables say so.
func TestNotRepeated(t *testing.T) {
	diverging := toy.Troubled{Recheck: 5, Diverges: true}
	by := strategy.Walk{Deliver: 2, Timer: 1, Steps: 30}
	table := published.Table{Title: "toy", Source: "package p\n\nfunc delivers() {\n}\n",
		Cases: []published.Case{{Name: "delivers", Build: func(bool) *scenario.Scenario {
			sc := scenario.New("delivers")
			sc.If(scenario.Type("message")).Named("messages").Then(scenario.Deliver())
			return sc
		}}},
		Plan: func(sc *scenario.Scenario, runs int, seed uint64) lockstep.Plan {
			return lockstep.Plan{System: diverging, Scenario: sc, Strategy: by, Runs: runs, Seed: seed}
		}}
	var b bytes.Buffer
	holds, err := table.Write(t.Context(), &b, 20, 1)
	if err != nil || holds || !strings.Contains(b.String(), "    not repeated: run ") {
		t.Errorf("holds: %v, %v: %s", holds, err, b.String())
	}
	m, err := published.Measure(t.Context(), published.Row{Table: "1", Name: "r", Plan: lockstep.Plan{System: diverging,
		Strategy: by}, Count: func(*lockstep.Result) []float64 { return nil }}, 20, 0)
	if err != nil || m.Diverged == 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	b.Reset()
	if m.Write(&b); !strings.Contains(b.String(), "differed when repeated |") {
		t.Errorf("the row does not say it: %s", b.String())
	}
}
