package mutants_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/mutantstest"
	kit "github.com/lockstep-go/lockstep/kit/mutants"
	"github.com/lockstep-go/lockstep/target/etcdraft/mutants"
)

// source is the directory of Lockstep, relative to this package.
const source = "../../.."

// TestMutants builds the program once. Every edit applies and compiles, the program equals the plain one without an
// active mutant, and strategies find easy mutants.
func TestMutants(t *testing.T) {
	recipe := mutants.Set.Program()
	program := mutantstest.Build(t, recipe)
	recipe.Overlay, recipe.Changed = nil, ""
	plain := mutantstest.Build(t, recipe)
	t.Run("inert", func(t *testing.T) { inert(t, program, plain) })
	t.Run("killed", func(t *testing.T) { killed(t, program) })
	t.Run("replayed", func(t *testing.T) { replayed(t, program, plain) })
	t.Run("guided", func(t *testing.T) { guided(t, program) })
	t.Run("unknown", func(t *testing.T) {
		if out, err := campaign(program, "magic"); err == nil ||
			!strings.Contains(out, "unknown mutant in LOCKSTEP_MUTANT: magic") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// campaign runs a program with an active mutant and returns its output.
func campaign(program, mutant string, args ...string) (string, error) {
	out, errs, err := mutantstest.Run(program, mutant, append([]string{"run", "etcdraft", "--json"}, args...)...)
	return out + errs, err
}

// guided looks for the mutants of membership changes with the scenarios for them. Without an active mutant the
// scenarios find nothing.
func guided(t *testing.T, program string) {
	for mutant, scenario := range map[string]string{"two-changes-at-once": "TwoChanges",
		"pending-change-forgotten": "PendingChange"} {
		for _, on := range []string{"", mutant} {
			out, err := campaign(program, on, "--scenario", scenario, "--runs", "30", "--seed", "1", "--settle", "0",
				"--no-shrink", "--out", t.TempDir())
			if found := strings.Contains(out, `"verdict":"fail"`); found != (on != "") {
				t.Errorf("%s on %q: %v: %s", scenario, on, err, out[:min(len(out), 2000)])
			}
		}
	}
}

// inert compares campaigns of both programs over every workload, by their digests: a hash over all steps of all runs.
func inert(t *testing.T, program, plain string) {
	var seen []string
	for _, m := range mutants.Set.List {
		if slices.Contains(seen, m.Load.Name) {
			continue
		}
		seen = append(seen, m.Load.Name)
		args := []string{"--runs", "30", "--steps", "200", "--strategy", "walk:crash=1,restart=1,duplicate=1"}
		for _, s := range m.Load.Set {
			args = append(args, "--set", s)
		}
		var digests [2]string
		for i, p := range []string{program, plain} {
			out, err := campaign(p, "", args...)
			if err != nil {
				t.Fatalf("%s: %v: %s", p, err, out)
			}
			var report struct{ Digest string }
			if err := json.Unmarshal([]byte(out), &report); err != nil || report.Digest == "" {
				t.Fatalf("%v: %s", err, out)
			}
			digests[i] = report.Digest
		}
		if digests[0] != digests[1] {
			t.Errorf("workload %s: digest %s with the mutants switched off, %s without them", m.Load.Name, digests[0],
				digests[1])
		}
	}
}

func killed(t *testing.T, program string) {
	list, err := mutants.Set.Find("vote-twice", "minority-commits", "conflict-kept")
	if err != nil {
		t.Fatal(err)
	}
	table, err := kit.Trial{
		Target:     "etcdraft",
		Program:    program,
		Strategies: []string{"walk:crash=1,restart=1", "queues"},
		Runs:       300,
		Steps:      300,
		Seed:       1,
		Out:        t.TempDir(),
	}.Run(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := table.WriteText(&out); err != nil || !table.Clean() || table.Killed() != len(list) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// replayed replays the run of a mutant. A program with another mutant active, or none, refuses it.
func replayed(t *testing.T, program, plain string) {
	dir := t.TempDir()
	out, err := campaign(program, "vote-twice", "--strategy", "walk", "--runs", "300", "--steps", "300", "--out", dir)
	traces, _ := filepath.Glob(filepath.Join(dir, "*[0-9].trace"))
	if err == nil || len(traces) != 1 {
		t.Fatalf("%v, %q: %s", err, traces, out)
	}
	for _, c := range []struct {
		program, mutant string
		code            int
		says            string
	}{
		{program, "vote-twice", 1, "one-vote"},
		{program, "vote-lost", 2, `about the mutant "vote-twice", and the active mutant of this program is "vote-lost"`},
		{plain, "vote-twice", 2,
			"in the build go.etcd.io/raft/v3@v3.7.0~mutants, this program has go.etcd.io/raft/v3@v3.7.0"},
	} {
		out, errs, err := mutantstest.Run(c.program, c.mutant, "replay", traces[0])
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) || exit.ExitCode() != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("%s with %s: %v, want status %d and %q: %s%s", filepath.Base(c.program), c.mutant, err, c.code,
				c.says, out, errs)
		}
	}
}

// TestSet checks that every mutant has all fields that the documentation shows, that the page shows the mutant, and
// that every area has mutants.
func TestSet(t *testing.T) {
	if err := mutants.Set.Check(); err != nil {
		t.Error(err)
	}
	mutantstest.Page(t, mutants.Set, source+"/docs/evidence/mutants.md")
	page, err := os.ReadFile(source + "/docs/evidence/mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range mutants.Set.Strategies { // the totals, so that the command produces the table of the page
		if !strings.Contains(string(page), "\n| "+s+" |") {
			t.Errorf("docs/evidence/mutants.md has no sums of %s, which lockstep paper mutants run uses", s)
		}
	}
	areas := map[kit.Area]int{}
	for _, m := range mutants.Set.List {
		areas[m.Area]++
	}
	for _, a := range []kit.Area{kit.Votes, kit.Terms, kit.Matching, kit.Commits, kit.Members, kit.Reads, kit.Snapshots,
		kit.Flow} {
		if areas[a] == 0 {
			t.Errorf("no mutant in the area %s", a)
		}
	}
}
