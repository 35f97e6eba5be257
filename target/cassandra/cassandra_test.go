package cassandra

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/enginetest"
	"github.com/lockstep-go/lockstep/internal/outside"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// guided is the plan of a scenario.
func guided(t *testing.T, name string, options ...string) lockstep.Plan {
	t.Helper()
	outside.Programs(t, "java", "javac", "mvn")
	sc, err := Targets[0].Scenario(name)
	if err != nil {
		t.Fatal(err)
	}
	system, err := Targets[0].Build(append(append(sc.Set, "patience=5m", "timeout=2s"), options...))
	if err != nil {
		t.Fatal(err)
	}
	s, err := strategy.Parse(sc.Strategy)
	if err != nil {
		t.Fatal(err)
	}
	return lockstep.Plan{System: system, Spec: Properties, Scenario: sc.Build(), Strategy: s, Settle: Settle, Workers: 1, Scratch: t.TempDir()}
}

// The published schedule makes the first transaction take effect twice in the servers that the paper had, and not in those as they were shipped, in a
// ring that serves one run after the other and is gone in the end.
func TestPublished(t *testing.T) {
	for _, c := range []struct{ name, version, row string }{
		{"CASSANDRA-6023", "2.0.0", "value_1=A value_2=B "},
		{"unchanged", "2.0.0", "value_1=B value_2=B "},
		{"unchanged", "2.0.17", "value_1=B value_2=B "},
	} {
		t.Run(c.name+" on "+c.version, func(t *testing.T) {
			if c.version != "2.0.0" && !*long {
				t.Skip("-long looks at later versions, too")
			}
			plan := guided(t, c.name, "version="+c.version)
			fails := strings.HasPrefix(c.row, "value_1=A")
			var tr *trace.Trace
			for attempt := range 3 { // a machine that is busy may let a server give up before it is answered
				var err error
				if tr, err = lockstep.Record(t.Context(), plan, attempt); err != nil {
					t.Fatal(err)
				}
				if !fails || tr.Outcome.Finding != nil {
					break
				}
			}
			if got := rowOf(tr); !strings.HasPrefix(got, c.row) {
				t.Errorf("the row has %s: %+v", got, tr.Outcome)
			}
			f := tr.Outcome.Finding
			if fails != (f != nil && f.Property == "once") {
				t.Errorf("%+v, %v", tr.Outcome, f)
			}
			if left, err := os.ReadDir(plan.Scratch); err != nil || len(left) > 0 {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
}

// Servers that are killed and started again and links that are cut and heal do the row no harm, and nothing is left of them.
func TestFaults(t *testing.T) {
	if !*long {
		t.Skip("-long makes it")
	}
	outside.Programs(t, "java", "mvn")
	enginetest.Passes(t, "faults", lockstep.Plan{System: Cluster{Patience: 5 * time.Minute}, Spec: Properties, Settle: 4 * Settle, Workers: 1, Runs: 1, Scratch: t.TempDir(), Seed: *seed,
		Strategy: strategy.Walk{Deliver: 20, Drop: 1, Request: 20, Wait: 1, Crash: 1, Restart: 4, Cut: 1, Heal: 4, Steps: 40}})
}

// A version whose messages are not known forms a ring behind links that are cut and heal, answers transactions, and keeps what it promises; it is gone in the end.
func TestNewer(t *testing.T) {
	if !*long {
		t.Skip("-long makes it")
	}
	outside.Programs(t, "java", "mvn")
	for _, version := range []string{"5.0.5"} {
		t.Run(version, func(t *testing.T) {
			plan := lockstep.Plan{System: Cluster{Version: version, Patience: 5 * time.Minute}, Spec: Properties, Settle: Settle, Workers: 1, Scratch: t.TempDir(), Seed: *seed,
				Strategy: strategy.Uniform{Period: 6, Isolations: 8, Rounds: 24}}
			tr, err := lockstep.Record(t.Context(), plan, 0)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]int{}
			for _, r := range tr.Records {
				seen[r.Step.Kind.String()]++
				for _, e := range r.Events {
					seen[e.Type]++
				}
			}
			t.Log(rowOf(tr), seen)
			for _, what := range []string{trace.Cut.String(), trace.Heal.String(), trace.Request.String(), spec.EventReturn, EventRow} {
				if seen[what] == 0 {
					t.Errorf("no %s: %v", what, seen)
				}
			}
			if seen[spec.EventReturn] < 2 { // one is that of the row in the end
				t.Errorf("no transaction was answered: %v", seen)
			}
			if tr.Outcome.Finding != nil || tr.Outcome.Verdict != trace.Pass {
				t.Errorf("%+v", tr.Outcome)
			}
			if left, err := os.ReadDir(plan.Scratch); err != nil || len(left) > 0 {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
}

// rowOf is the row in the end.
func rowOf(tr *trace.Trace) (row string) {
	for _, r := range tr.Records {
		for _, e := range r.Events {
			if e.Type == EventRow {
				row = e.Text
			}
		}
	}
	return row
}
