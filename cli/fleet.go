package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/closure"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/internal/stretch"
	"github.com/lockstep-go/lockstep/report/campaign"
)

// gatheredVariable tells a program that was built on demand where the file is with what a fleet
// has made of its campaign.
const gatheredVariable = "LOCKSTEP_GATHERED"

// Elsewhere is a campaign that a fleet is to make.
type Elsewhere struct {
	// URL is where the fleet is, and TokenFile the file with its work token; empty: a variable has it.
	URL, TokenFile string
	// Target is the target's name and Set its options: they say which program has it.
	Target string
	Set    []string
	// Args make that program serve stretches of the campaign.
	Args []string
	// For is the most time that it may take; 0 is no limit.
	For time.Duration
}

// Gathered is what a fleet, or other processes, made of a campaign.
type Gathered struct {
	Result *lockstep.Result
	// Coverage and Closure are what was measured, where that was wanted.
	Coverage *coverage.Sum
	Closure  *closure.Measured
	Traces   []stretch.Trace // of the findings, in their order
	Elapsed  time.Duration
	Curve    []campaign.Sample
	Stopped  bool // by somebody
	// Failed is why the campaign could not go on.
	Failed string
}

// elsewhere has the runs made by a fleet, where that is wanted, and gathers what came of them: for
// this program, or for the one that has the target, which takes over.
func (c *runCmd) elsewhere(e *Env) error {
	if c.Fleet == "" || c.Stretches {
		return nil
	}
	if c.NoOverlay {
		return errors.New("--no-overlay with --fleet: a fleet's workers build targets with the overlay")
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
	if err := errors.Join(CheckOut(c.Out), CheckFiles("report", c.Report, "junit", c.JUnit)); err != nil {
		return err
	}
	g, err := e.app.Fleet(
		e,
		Elsewhere{URL: c.Fleet, TokenFile: c.TokenFile, Target: c.Target, Set: c.Set, Args: c.stretches(), For: c.For},
	)
	if err != nil {
		return err
	}
	at, err := e.locate(c.Target, c.Set)
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

// handedOver is what was gathered in the file for another program. The file names itself: whatever else the variable
// names is nobody's to read or to remove.
type handedOver struct {
	File     string    `json:"lockstep_gathered"`
	Gathered *Gathered `json:"gathered"`
}

// write writes what was gathered to a file for another program, which removes it.
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
		return fmt.Errorf(
			"%s names %s, which lockstep did not write; the variable is for its own use",
			gatheredVariable,
			file,
		)
	}
	c.gathered = h.Gathered
	return os.Remove(file)
}

// result makes the runs, or takes what other processes or a fleet have made of them.
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
	crew, err := lockstep.NewCrew(plan)
	if err != nil {
		return nil, err
	}
	err = errors.Join(crew.Close(), stretch.Unpack(g.Result, g.Traces))
	crew.Conclude(g.Result)
	if g.Failed != "" {
		err = errors.Join(err, errors.New(g.Failed))
	}
	return g.Result, err
}
