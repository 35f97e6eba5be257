package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

type demoCmd struct {
	Seed uint64 `default:"1" placeholder:"X" help:"Seed of the campaign (${default})."`
	Out  string `default:"lockstep-out" placeholder:"DIR" help:"Where the trace goes (${default})."`
}

// Help returns the longer help.
func (demoCmd) Help() string {
	return "The replicated log of \"Testing Consensus Implementations using Communication Closure\",\nfirst with " +
		"the bug that the paper shows (Fig. 1), then without.\n\nExample:\n  lockstep demo"
}

const demoRuns = 50_000

// Run runs the demonstration.
func (d *demoCmd) Run(e *cli.Env) error {
	if err := cli.CheckOut(d.Out); err != nil {
		return err
	}
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix,
		Strategy: strategy.DefaultUniform, Seed: d.Seed, Runs: demoRuns}
	fmt.Fprintf(e.Out, "A replicated log on three nodes. Whatever two of them output must agree: one a prefix\n"+
		"of the other. Runs go in lock-step rounds; up to %d times a node is cut off for the rest\nof a phase.\n\n",
		strategy.DefaultUniform.Isolations)
	start := time.Now()
	result, err := lockstep.Explore(e.Ctx, plan)
	if err != nil || result.Interrupted {
		return errors.Join(err, e.Ctx.Err())
	}
	f := result.First()
	if f == nil {
		return errors.New("the demonstration found nothing; try another --seed")
	}
	fmt.Fprintf(e.Out, "1. Found in run %d, after %v: %s.\n   %s\n", f.Run, time.Since(start).Round(time.Millisecond),
		f.Finding, result.Guarantee)
	k, err := e.Keep(plan, f.Trace, artifact.Options{Dir: d.Out})
	if err = errors.Join(err, k.NotShrunk); err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "\n2. Shrunk from %s\n   to %s, in %d more runs.\n"+
		"   The smaller run violates the same property, with other values.\n\n3. Drawn:\n\n", k.Shrunk.Was, k.Shrunk.Is,
		k.Shrunk.Attempts)
	if err := e.Grid(k.Trace); err != nil {
		return err
	}
	plan.System = smr.Cluster{Nodes: 3}
	if result, err = lockstep.Explore(e.Ctx, plan); err != nil {
		return err
	}
	fmt.Fprintf(
		e.Out,
		"\n4. The corrected protocol: %d runs, verdict %s.\n\nLook at it in a browser: %s\nReplay the finding with:\n%s\n",
		result.Runs,
		result.Verdict(),
		k.Page,
		e.Replay(k.File),
	)
	return nil
}
