package mutants_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/build"
	kit "github.com/lockstep-go/lockstep/kit/mutants"
	"github.com/lockstep-go/lockstep/target/etcdraft/mutants"
)

// source is the folder of Lockstep, seen from this package.
const source = "../../.."

// needGo skips, loudly, a test that builds; with LOCKSTEP_STRICT=1 it fails instead.
func needGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		const text = "the go tool is missing, so the mutants are not built"
		if os.Getenv("LOCKSTEP_STRICT") == "1" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
}

// TestMutants builds the program once: every edit is made and compiles, the program is
// the plain one where no mutant is on, and easy mutants are found.
func TestMutants(t *testing.T) {
	needGo(t)
	b := build.Builder{Cache: t.TempDir()}
	recipe := mutants.Set.Program(source + "/cmd/lockstep")
	program, err := b.Program(t.Context(), recipe, "")
	if err != nil {
		t.Fatal(err)
	}
	recipe.Overlay, recipe.Changed = nil, ""
	plain, err := b.Program(t.Context(), recipe, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("inert", func(t *testing.T) { inert(t, program, plain) })
	t.Run("killed", func(t *testing.T) { killed(t, program) })
	t.Run("replayed", func(t *testing.T) { replayed(t, program, plain) })
	t.Run("guided", func(t *testing.T) { guided(t, program) })
	t.Run("unknown", func(t *testing.T) {
		if out, err := campaign(program, "magic"); err == nil || !strings.Contains(out, "unknown mutant in LOCKSTEP_MUTANT: magic") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// campaign runs a program with a mutant on and returns what it prints.
func campaign(program, mutant string, args ...string) (string, error) {
	cmd := exec.Command(program, append([]string{"run", "etcdraft", "--json"}, args...)...)
	cmd.Env = append(os.Environ(), kit.Variable+"="+mutant)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// guided looks for the mutants of membership changes with the scenarios made for them, which
// find nothing where no mutant is on.
func guided(t *testing.T, program string) {
	for mutant, scenario := range map[string]string{"two-changes-at-once": "TwoChanges", "pending-change-forgotten": "PendingChange"} {
		for _, on := range []string{"", mutant} {
			out, err := campaign(program, on, "--scenario", scenario, "--runs", "30", "--seed", "1", "--settle", "0", "--no-shrink", "--out", t.TempDir())
			if found := strings.Contains(out, `"verdict":"fail"`); found != (on != "") {
				t.Errorf("%s on %q: %v: %s", scenario, on, err, out[:min(len(out), 2000)])
			}
		}
	}
}

// inert compares campaigns of both programs over every workload, by their digests: a
// hash over all steps of all runs.
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
			t.Errorf("workload %s: digest %s with the mutants switched off, %s without them", m.Load.Name, digests[0], digests[1])
		}
	}
}

func killed(t *testing.T, program string) {
	list, err := mutants.Set.Find("vote-twice", "minority-commits", "conflict-kept")
	if err != nil {
		t.Fatal(err)
	}
	table, err := kit.Trial{Target: "etcdraft", Program: program, Strategies: []string{"walk:crash=1,restart=1", "shadow"}, Runs: 300, Steps: 300, Seed: 1,
		Out: t.TempDir()}.Run(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := table.WriteText(&out); err != nil || !table.Clean() || table.Killed() != len(list) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// replayed repeats the run of a mutant. A program that has another on, or none, refuses it.
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
		{program, "vote-twice", 1, "election-safety"},
		{program, "vote-lost", 2, `this is about the mutant "vote-twice", and the program has "vote-lost" on`},
		{plain, "vote-twice", 2, "in the build go.etcd.io/raft/v3@v3.7.0~mutants, this program has go.etcd.io/raft/v3@v3.7.0"},
	} {
		cmd := exec.Command(c.program, "replay", traces[0])
		cmd.Env = append(os.Environ(), kit.Variable+"="+c.mutant)
		text, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != c.code || !strings.Contains(string(text), c.says) {
			t.Errorf("%s with %s: %v, want status %d and %q: %s", filepath.Base(c.program), c.mutant, err, c.code, c.says, text)
		}
	}
}

// TestPage checks that the page has the tables that are made from the mutants.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(source + "/docs/mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	var list, loads strings.Builder
	if err := kit.WriteList(&list, mutants.Set.List); err != nil {
		t.Fatal(err)
	}
	if err := kit.WriteLoads(&loads, mutants.Set.List); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{list.String(), loads.String()} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/mutants.md lacks a table of lockstep paper mutants list --markdown:\n%s", want)
		}
	}
	for _, m := range mutants.Set.List {
		if n := strings.Count(string(page), "\n| "+m.Name+" |"); n != 2 {
			t.Errorf("docs/mutants.md has %d rows for %s, want one that describes it and one with results", n, m.Name)
		}
	}
	for _, s := range mutants.Set.Strategies { // the sums, so that the command makes the table of the page
		if !strings.Contains(string(page), "\n| "+s+" |") {
			t.Errorf("docs/mutants.md has no sums of %s, which lockstep paper mutants run tries", s)
		}
	}
}

// TestCatalog checks that every mutant says all that the documentation shows.
func TestCatalog(t *testing.T) {
	list := mutants.Set.List
	if len(list) < 24 {
		t.Errorf("%d mutants, want at least 24", len(list))
	}
	var names []string
	areas := map[kit.Area]int{}
	for _, m := range list {
		names = append(names, m.Name)
		areas[m.Area]++
		if m.Name == "" || m.File == "" || m.Func == "" || m.Does == "" || m.Breaks == "" || m.Load.Name == "" || m.Load.Why == "" {
			t.Errorf("incomplete: %+v", m)
		}
		if (m.Expr == "") == (m.Stmt == "") || (m.Expr == "") != (m.By == "") {
			t.Errorf("%s: either an expression with what stands in its place, or a statement", m.Name)
		}
		if !strings.ContainsAny(m.Breaks, "§") && !strings.Contains(m.Breaks, "Fig.") {
			t.Errorf("%s: no place in the paper: %s", m.Name, m.Breaks)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(list) {
		t.Error("two mutants have the same name")
	}
	for _, a := range []kit.Area{mutants.Votes, mutants.Terms, mutants.Matching, mutants.Commits, mutants.Members, mutants.Reads, mutants.Snapshots, mutants.Flow} {
		if areas[a] == 0 {
			t.Errorf("no mutant in the area %s", a)
		}
	}
}
