package backup_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/backup"
	"github.com/lockstep-go/lockstep/trace"
)

// rough loses, duplicates and delays messages, cuts links and crashes nodes.
var rough = strategy.Walk{Deliver: 10, Drop: 1, Duplicate: 1, Timer: 2, Request: 2, Crash: 1, Restart: 2, Cut: 1,
	Heal: 1, Steps: 150}

func explore(t *testing.T, c backup.Cluster, s lockstep.Strategy, runs int) *lockstep.Result {
	t.Helper()
	plan := lockstep.Plan{System: c, Strategy: s, Spec: spec.All(kv.Linearizable, kv.Sequential), Seed: 1, Runs: runs}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// A primary that waits for its disk and its backups passes the spec.
func TestCorrect(t *testing.T) {
	for _, s := range []lockstep.Strategy{rough, strategy.DefaultPOS, strategy.DefaultPartition,
		strategy.Uniform{Period: 2, Isolations: 2, Rounds: 20}} {
		result := explore(t, backup.Cluster{Nodes: 3}, s, 300)
		if f := result.First(); f != nil {
			t.Errorf("%s: %s", s, f.Finding)
		}
		if checked := result.Checked; checked[0].N < 100 || checked[1].N < 100 {
			t.Errorf("%s: in 300 runs checked %v", s, checked)
		}
	}
}

// A crash exposes a primary that does not wait: it has acknowledged a write that is lost.
func TestEarlyAnswers(t *testing.T) {
	result := explore(t, backup.Cluster{EarlyAnswers: true}, rough, 2000)
	f := result.First()
	if f == nil || f.Finding.Property != "linearizability" || f.Flaky != "" {
		t.Fatalf("found %+v in %d runs", f, result.Runs)
	}
	tier.NotShort(t) // shrinking takes a second
	plan := lockstep.Plan{System: backup.Cluster{EarlyAnswers: true}, Strategy: rough, Spec: backup.Targets[1].Spec}
	small, err := shrink.Run(t.Context(), plan, f.Trace, shrink.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if last := small.Trace.Records; len(last) > 10 ||
		!slices.ContainsFunc(last, func(r trace.Record) bool { return r.Step.Kind == trace.Crash }) {
		t.Errorf("shrunk to %d steps, with or without a crash", len(last))
	}
	t.Logf("run %d: %s\n%d steps, shrunk to %d", f.Run, f.Finding, len(f.Trace.Records), len(small.Trace.Records))
}

// The page shows excerpts of the target, in its order, and of this test.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/add-a-target.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string][]string{}
	for _, b := range page.Blocks(string(text)) {
		shown[b.Name] = append(shown[b.Name], b.Text)
	}
	program, err := os.ReadFile("backup.go")
	if err != nil {
		t.Fatal(err)
	}
	rest, found := string(program), false
	for _, part := range shown["backup.go"] {
		if _, rest, found = strings.Cut(rest, part); !found {
			t.Fatalf("docs/how-to/add-a-target.md shows what is not the next part of backup.go:\n%s", part)
		}
	}
	if len(shown["backup.go"]) < 10 {
		t.Error("docs/how-to/add-a-target.md does not show backup.go")
	}
	if lines := strings.Count(string(program), "\n"); lines >= 200 {
		t.Errorf("backup.go has %d lines, the page promises less than 200", lines)
	}
	test, err := os.ReadFile("backup_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range shown["backup_test.go"] {
		if !strings.Contains(string(test), part) {
			t.Errorf("docs/how-to/add-a-target.md shows another test:\n%s", part)
		}
	}
}
