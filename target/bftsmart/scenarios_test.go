package bftsmart_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/bftsmart"
	"github.com/lockstep-go/lockstep/trace"
)

var (
	runs = flag.Int("runs", 1, "runs of each cell of the table")
	only = flag.String(
		"only",
		"^DropWriteForP/agent/ours$",
		"cells of the table to fill: scenario/agent or proxies/ours, published or control",
	)
	seed = flag.Uint64("seed", 1, "seed of the table")
)

// The scenarios of the paper, with interception by the agent and at proxies, with our filters, with the published
// filters only, and without faults. Each test fills one cell; -args -only . -runs 10 produces the table of the
// documentation.
func TestScenarios(t *testing.T) {
	outside.JVM(t)
	wanted := regexp.MustCompile(*only)
	for _, c := range bftsmart.Cases {
		for _, way := range []string{"agent", "proxies"} {
			for _, cell := range []struct {
				name  string
				build func() *scenario.Scenario
			}{
				{"ours", func() *scenario.Scenario { return c.Build(true) }},
				{"published", func() *scenario.Scenario { return c.Build(false) }},
				{"control", func() *scenario.Scenario { return c.Build(true).Control() }},
			} {
				name := c.Name + "/" + way + "/" + cell.name
				if !wanted.MatchString(name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					plan := bftsmart.Plan(cell.build(), *runs, *seed)
					cluster := plan.System.(bftsmart.Cluster)
					cluster.Proxies = way == "proxies"
					plan.System = cluster
					result := explore(t, plan)
					fmt.Fprintln(os.Stdout, name+":", row(result))
					if cell.name == "ours" && (scenario.Successes(result) == 0 || len(result.Idle()) > 0) {
						t.Errorf("no run succeeds, or a part has no effect: %v", result.Idle())
					}
				})
			}
		}
	}
}

// row returns a cell of the table: successes, of conclusive runs, with an exact interval.
func row(r *lockstep.Result) string {
	share := compare.Share(scenario.Successes(r), r.Runs-r.Inconclusive, 0.95)
	return fmt.Sprintf(
		"%d/%d [%.0f–%.0f %%], %.0f %% of %d steps by the scenario, vacuous %d, unknown %d, findings %d, flaky %d",
		scenario.Successes(r),
		r.Runs-r.Inconclusive,
		100*share.Low,
		100*share.High,
		100*scenario.Share(r),
		r.Steps,
		r.Verdicts[trace.Vacuous],
		r.Verdicts[trace.Unknown],
		r.Verdicts[trace.Fail],
		r.Verdicts[trace.Flaky],
	)
}
