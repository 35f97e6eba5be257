package bftsmart_test

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/lockstep-go/lockstep/internal/outside"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/bftsmart"
	"github.com/lockstep-go/lockstep/trace"
)

var (
	runs = flag.Int("runs", 1, "runs of each scenario")
	only = flag.String("only", "^DropWriteForP$", "scenarios to run")
)

// The scenarios of the paper, with ours, with the published filters only, and without faults.
// One of them is run with every test; -args -only . -runs 5 makes the table of the documentation.
func TestScenarios(t *testing.T) {
	outside.Programs(t, "java", "mvn")
	table := os.Getenv("LOCKSTEP_TABLE") != ""
	for _, c := range bftsmart.Cases {
		if !regexp.MustCompile(*only).MatchString(c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			result := explore(t, bftsmart.Plan(c.Build(true), *runs, 1))
			ours := scenario.Successes(result)
			if ours == 0 || len(result.Idle()) > 0 || result.Verdicts[trace.Fail] > 0 {
				t.Errorf("%d of %d runs with ours succeed, without effect: %v", ours, result.Runs, result.Idle())
			}
			if !table {
				return
			}
			plain := explore(t, bftsmart.Plan(c.Build(false), *runs, 1))
			control := explore(t, bftsmart.Plan(c.Build(true).Control(), *runs, 1))
			t.Logf("| %s | %d/100 | %d/%d | %d/%d | %d/%d | %d | %d |", c.Name, c.Published, ours, result.Runs, scenario.Successes(plain), plain.Runs,
				scenario.Successes(control), control.Runs, result.Verdicts[trace.Vacuous],
				result.Verdicts[trace.Fail]+plain.Verdicts[trace.Fail]+control.Verdicts[trace.Fail])
		})
	}
}
