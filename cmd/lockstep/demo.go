package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

type demoCmd struct {
	Seed uint64 `default:"1" placeholder:"X" help:"Seed of the campaign (${default})."`
	Out  string `default:"lockstep-out" placeholder:"DIR" help:"Where the trace goes (${default})."`
}

// Help implements kong's longer help.
func (demoCmd) Help() string {
	return "The replicated log of \"Testing Consensus Implementations using Communication Closure\",\nfirst with the bug of Fig. 1, then without.\n\nExample:\n  lockstep demo"
}

const demoRuns = 50_000

// Run implements the command.
func (c *demoCmd) Run(e *env) error {
	if err := checkOut(c.Out); err != nil {
		return err
	}
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix,
		Strategy: strategy.DefaultUniform, Seed: c.Seed, Runs: demoRuns}
	fmt.Fprintf(e.out, "A replicated log on three nodes. Whatever two of them output must agree: one a prefix\n"+
		"of the other. Runs go in lock-step rounds; up to %d times a node is cut off for the rest\nof a phase.\n\n",
		strategy.DefaultUniform.Isolations)
	start := time.Now()
	result, err := lockstep.Explore(e.ctx, plan)
	if err != nil {
		return err
	}
	f := result.First()
	if f == nil {
		return errors.New("the demonstration found nothing; try another --seed")
	}
	fmt.Fprintf(e.out, "1. Found in run %d, after %v: %s.\n   %s\n", f.Run, time.Since(start).Round(time.Millisecond), f.Finding, result.Guarantee)
	small, err := lockstep.Shrink(e.ctx, plan, f.Trace, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "\n2. Shrunk from %s\n   to %s, by %d runs more.\n\n3. Drawn:\n\n", small.Was, small.Is, small.Tries)
	if err := report.Grid(e.out, small.Trace, options(e.out)); err != nil {
		return err
	}
	file, err := saveTrace(e, c.Out, traceName(small.Trace.Header, f.Finding), small.Trace)
	if err != nil {
		return err
	}
	page := strings.TrimSuffix(file, ".trace") + ".html"
	if err := e.page(plan, page, report.Views{Found: f.Trace, Shrunk: small.Trace}, fmt.Sprintf("%s replay %s", e.self, quoted(file))); err != nil {
		return err
	}
	plan.System = smr.Cluster{Nodes: 3}
	if result, err = lockstep.Explore(e.ctx, plan); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "\n4. The corrected protocol: %d runs, verdict %s.\n\nLook at it in a browser: %s\nReplay the finding with:\n%s replay %s\n",
		result.Runs, result.Verdict(), page, e.self, quoted(file))
	return nil
}
