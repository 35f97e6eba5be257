package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/report/campaign"
)

// gatheredVariable passes a file name to a program that was built on demand. The file has the fleet's result of its
// campaign.
const gatheredVariable = "LOCKSTEP_GATHERED"

// Elsewhere is a campaign that a fleet runs.
type Elsewhere struct {
	// URL is the address of the fleet, and TokenFile the file with its work token; empty: an environment variable has
	// it.
	URL, TokenFile string
	// Target is the target's name and Set its options: they determine the program that has the target.
	Target string
	Set    []string
	// Args are the arguments with which that program serves batches of the campaign.
	Args []string
	// For is the longest time that the campaign may take; 0 is no limit.
	For time.Duration
}

// Gathered is the result of a campaign whose runs a fleet, or other processes, made.
type Gathered struct {
	Result *lockstep.Result
	// Coverage, Closure, Code and Model are the measurements, if the user asked for them.
	Coverage *coverage.Sum
	Closure  *lockstepform.Measured
	Code     *code.Sum
	Model    *model.Visits
	Traces   []batch.Trace // of the findings, in their order
	Elapsed  time.Duration
	Curve    []campaign.Sample
	Stopped  bool // the user stopped the campaign
	// Failed is the reason why the campaign could not continue.
	Failed string
}

// elsewhere lets a fleet make the runs, if the user asked for one, and gathers the results. Where another program has
// the target, that program takes over with the results.
func (c *runCmd) elsewhere(e *Env) error {
	if c.Fleet == "" || c.Batches {
		return nil
	}
	if c.NoOverlay {
		return errors.New("--no-overlay with --fleet: a fleet's workers build targets with the overlay")
	}
	if c.Conform != "" {
		return errors.New("--conform with --fleet: a fleet's workers do not have the file of the model")
	}
	if file := os.Getenv(gatheredVariable); file != "" {
		return c.readGathered(file)
	}
	if e.app.Fleet == nil && e.app.FleetProgram != nil {
		return e.Become(e.app.FleetProgram)
	}
	if e.app.Fleet == nil {
		return fmt.Errorf("this program knows of no fleet: lockstep run %s --fleet %s does", c.Target, c.Fleet)
	}
	if err := c.checkFiles(); err != nil {
		return err
	}
	set := slices.Concat(c.build, c.Set)
	g, err := e.app.Fleet(e,
		Elsewhere{URL: c.Fleet, TokenFile: c.TokenFile, Target: c.Target, Set: set, Args: c.batchArgs(), For: c.For})
	if err != nil {
		return err
	}
	at, err := e.locate(c.Target, set)
	if err != nil || at.program == nil {
		c.gathered = g
		return err
	}
	file, err := g.write()
	if err != nil {
		return err
	}
	return e.handOver(at, gatheredVariable+"="+file)
}

// handedOver is the content of the file with gathered results for another program. The file names itself: if the
// variable names any other file, the program neither reads nor removes it.
type handedOver struct {
	File     string    `json:"lockstep_gathered"`
	Gathered *Gathered `json:"gathered"`
}

// write writes the gathered results to a file for another program, which removes it.
func (g *Gathered) write() (string, error) {
	f, err := os.CreateTemp("", "lockstep-gathered-*")
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(json.NewEncoder(f).Encode(handedOver{f.Name(), g}), f.Close())
}

func (c *runCmd) readGathered(file string) error {
	_ = os.Unsetenv(gatheredVariable)
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s: %w", gatheredVariable, err)
	}
	var h handedOver
	if json.Unmarshal(text, &h) != nil || h.File != file || h.Gathered == nil || h.Gathered.Result == nil {
		return fmt.Errorf("%s names %s, which lockstep did not write; the variable is for its own use",
			gatheredVariable, file)
	}
	c.gathered = h.Gathered
	return os.Remove(file)
}

// result makes the runs, or takes the results that other processes or a fleet gathered.
func (c *runCmd) result(ctx context.Context, e *Env, plan lockstep.Plan) (*lockstep.Result, error) {
	if c.gathered == nil {
		n, err := processes(plan)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return lockstep.Explore(ctx, plan)
		}
		if c.gathered, err = c.abreast(ctx, e, plan, n); err != nil {
			return nil, err
		}
	}
	g := c.gathered
	runner, err := lockstep.NewBatchRunner(plan)
	if err != nil {
		return nil, err
	}
	err = errors.Join(runner.Close(), batch.Unpack(g.Result, g.Traces))
	runner.Conclude(g.Result)
	if g.Failed != "" {
		err = errors.Join(err, errors.New(g.Failed))
	}
	return g.Result, err
}
