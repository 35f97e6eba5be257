package mutants_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/mutantstest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/target/hashicorpraft"
	"github.com/lockstep-go/lockstep/target/hashicorpraft/mutants"
)

// source is the directory of Lockstep, relative to this package.
const source = "../../.."

// Every mutant has all fields that the documentation shows, and the page shows it. The default strategy is among
// those of the page.
func TestSet(t *testing.T) {
	if err := mutants.Set.Check(); err != nil {
		t.Error(err)
	}
	mutantstest.Page(t, mutants.Set, source+"/docs/evidence/mutants-hashicorpraft.md")
	if first := mutants.Set.Strategies[0]; first != hashicorpraft.Usual {
		t.Errorf("mutants are tried with %s first, and the target with %s", first, hashicorpraft.Usual)
	}
}

// The test builds the program that carries the mutants. Every edit applies and compiles, campaigns without an active
// mutant find nothing, and campaigns find easy mutants.
func TestMutants(t *testing.T) {
	program := mutantstest.Build(t, mutants.Set.Program())
	// The order of goroutines decides which consequence of a bug shows first.
	elections := []string{"one-vote", "election-safety", "leader-completeness", "log-matching", "state-machine-safety"}
	for mutant, want := range map[string][]string{"": nil, "vote-twice": elections, "minority-commits": nil,
		"refusal-counts": elections} {
		runs := 150
		if mutant == "" {
			runs = tier.Pick(30, 150)
		}
		r := campaign(t, program, mutant, runs, "no-pre-vote=true")
		if found := r.Findings > 0; found != (mutant != "") || want != nil &&
			!slices.Contains(want, r.Finding.Property) {
			t.Errorf("%q: %d findings, %s: %s", mutant, r.Findings, r.Finding.Property, r.Finding.Text)
		}
	}
	tried := map[string]bool{}
	for _, m := range mutants.Set.List { // the unmodified library, with every workload
		if tried[m.Load.Name] {
			continue
		}
		tried[m.Load.Name] = true
		runs := tier.Pick(10, 30)
		if r := campaign(t, program, "", runs, m.Load.Set...); r.Findings > 0 || r.Runs != runs {
			t.Errorf("without a mutant, workload %s: %d runs, %d findings, %s: %s", m.Load.Name, r.Runs, r.Findings,
				r.Finding.Property, r.Finding.Text)
		}
	}
}

// summary is the output of a campaign.
type summary struct {
	Runs, Findings int
	Finding        struct{ Property, Text string }
}

// campaign runs the program with a mutant, or none, and a workload.
func campaign(t *testing.T, program, mutant string, runs int, load ...string) (r summary) {
	t.Helper()
	args := []string{
		"run",
		mutants.Set.Target,
		"--strategy",
		mutants.Set.Strategies[0],
		"--runs",
		strconv.Itoa(runs),
		"--steps",
		"300",
		"--seed",
		"1",
		"--workers",
		"1",
		"--no-shrink",
		"--json",
		"--out",
		t.TempDir(),
	}
	for _, set := range load {
		args = append(args, "--set", set)
	}
	out, failed, exit := mutantstest.Run(program, mutant, args...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%q: %v %v\n%s", mutant, exit, err, failed)
	}
	return r
}
