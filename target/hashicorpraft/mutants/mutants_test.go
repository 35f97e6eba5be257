package mutants_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/kit/mutants/mutantstest"
	"github.com/lockstep-go/lockstep/target/hashicorpraft/mutants"
)

// source is the folder of Lockstep, seen from this package.
const source = "../../.."

// Every mutant says all that the documentation shows, and the page shows it.
func TestSet(t *testing.T) {
	if err := mutants.Set.Check(); err != nil {
		t.Error(err)
	}
	mutantstest.Page(t, mutants.Set, source+"/docs/mutants-hashicorpraft.md")
}

// The program that carries the mutants is built: every edit is made and compiles, nothing is
// found where none is on, and easy mutants are.
func TestMutants(t *testing.T) {
	program := mutantstest.Build(t, mutants.Set.Program(source+"/cmd/lockstep"))
	// Which consequence of a mistake shows first is up to the goroutines.
	elections := []string{"election-safety", "leader-completeness", "log-matching", "state-machine-safety"}
	for mutant, want := range map[string][]string{"": nil, "vote-twice": elections, "minority-commits": nil, "refusal-counts": elections} {
		out, failed, exit := mutantstest.Run(program, mutant, "run", mutants.Set.Target, "--strategy", mutants.Set.Strategies[0], "--set", "no-pre-vote=true", "--runs", "150", "--steps", "300",
			"--seed", "1", "--workers", "1", "--no-shrink", "--json", "--out", t.TempDir())
		var report struct {
			Findings int
			Finding  struct{ Property, Text string }
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%q: %v %v\n%s", mutant, exit, err, failed)
		}
		if found := report.Findings > 0; found != (mutant != "") || want != nil && !slices.Contains(want, report.Finding.Property) {
			t.Errorf("%q: %d findings, %s: %s", mutant, report.Findings, report.Finding.Property, report.Finding.Text)
		}
	}
}
