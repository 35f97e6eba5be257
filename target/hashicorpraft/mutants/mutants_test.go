package mutants_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/build"
	kit "github.com/lockstep-go/lockstep/kit/mutants"
	"github.com/lockstep-go/lockstep/target/hashicorpraft/mutants"
)

// source is the folder of Lockstep, seen from this package.
const source = "../../.."

// Every mutant says all that the documentation shows.
func TestCatalog(t *testing.T) {
	var names []string
	for _, m := range mutants.Set.List {
		names = append(names, m.Name)
		if m.Name == "" || m.Area == "" || m.File == "" || m.Func == "" || m.Does == "" || m.Breaks == "" || m.Load.Name == "" || m.Load.Why == "" {
			t.Errorf("incomplete: %+v", m)
		}
		if (m.Expr == "") == (m.Stmt == "") || (m.Expr == "") != (m.By == "") {
			t.Errorf("%s: either an expression with what stands in its place, or a statement", m.Name)
		}
		if !strings.ContainsAny(m.Breaks, "§") && !strings.Contains(m.Breaks, "Fig.") {
			t.Errorf("%s: no place in the paper: %s", m.Name, m.Breaks)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(mutants.Set.List) || len(names) < 12 {
		t.Errorf("%d mutants, or two of one name", len(names))
	}
}

// The program that carries the mutants is built: every edit is made and compiles, nothing is
// found where none is on, and easy mutants are.
func TestMutants(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		const text = "the go tool is missing, so the mutants are not built"
		if os.Getenv("LOCKSTEP_STRICT") == "1" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	b := build.Builder{Cache: t.TempDir()}
	program, err := b.Program(t.Context(), mutants.Set.Program(source+"/cmd/lockstep"), "")
	if err != nil {
		t.Fatal(err)
	}
	// Which consequence of a mistake shows first is up to the goroutines.
	elections := []string{"election-safety", "leader-completeness", "log-matching", "state-machine-safety"}
	for mutant, want := range map[string][]string{"": nil, "vote-twice": elections, "minority-commits": nil, "refusal-counts": elections} {
		r := campaign(t, program, mutant, 150, "no-pre-vote=true")
		if found := r.Findings > 0; found != (mutant != "") || want != nil && !slices.Contains(want, r.Finding.Property) {
			t.Errorf("%q: %d findings, %s: %s", mutant, r.Findings, r.Finding.Property, r.Finding.Text)
		}
	}
	tried := map[string]bool{}
	for _, m := range mutants.Set.List { // the library as it is, with every workload
		if tried[m.Load.Name] {
			continue
		}
		tried[m.Load.Name] = true
		if r := campaign(t, program, "", 30, m.Load.Set...); r.Findings > 0 || r.Runs != 30 {
			t.Errorf("without a mutant, workload %s: %d runs, %d findings, %s: %s", m.Load.Name, r.Runs, r.Findings, r.Finding.Property, r.Finding.Text)
		}
	}
}

// told is what a campaign tells.
type told struct {
	Runs, Findings int
	Finding        struct{ Property, Text string }
}

// campaign runs the program with a mutant, or none, and a workload.
func campaign(t *testing.T, program, mutant string, runs int, load ...string) (r told) {
	t.Helper()
	args := []string{"run", mutants.Set.Target, "--strategy", mutants.Set.Strategies[0], "--runs", strconv.Itoa(runs), "--steps", "300",
		"--seed", "1", "--workers", "1", "--no-shrink", "--json", "--out", t.TempDir()}
	for _, set := range load {
		args = append(args, "--set", set)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), kit.Variable+"="+mutant)
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	exit := cmd.Run()
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%q: %v %v\n%s", mutant, exit, err, failed.String())
	}
	return r
}

// The page has the tables that are made from the mutants.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(source + "/docs/mutants-hashicorpraft.md")
	if err != nil {
		t.Fatal(err)
	}
	var list, loads bytes.Buffer
	if err := kit.WriteList(&list, mutants.Set.List); err != nil {
		t.Fatal(err)
	}
	if err := kit.WriteLoads(&loads, mutants.Set.List); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{list.String(), loads.String()} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("docs/mutants-hashicorpraft.md lacks a table of lockstep paper mutants list --of hashicorpraft --markdown:\n%s", want)
		}
	}
}
