package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// The default strategies of a campaign with a scenario. A scenario leaves some steps open. These are best explored by
// strategies that delay messages, but not indefinitely.
const (
	usualStrategy  = "uniform"
	guidedStrategy = "pctcp:depth=6,events=300,late=30,fair=true,steps=3000"
)

// guide returns the requested scenario, or none, with the options that it needs.
func (c *runCmd) guide(at *place) (target.Scenario, error) {
	if c.Scenario == "" {
		c.Strategy = cmp.Or(c.Strategy, at.target.Strategy, usualStrategy)
		return target.Scenario{}, nil
	}
	s, err := at.target.Scenario(c.Scenario)
	if err == nil && cmp.Or(c.Strategy, s.Strategy) == "" {
		s.Strategy, err = guidedFor(at, s.Set)
	}
	c.Strategy = cmp.Or(c.Strategy, s.Strategy)
	return s, err
}

// guidedFor returns the strategy for scenarios without one of their own. Where the engine does not control single
// messages, it is the target's.
func guidedFor(at *place, set []string) (string, error) {
	guided, err := strategy.Parse(guidedStrategy)
	if err != nil {
		return "", err
	}
	system, err := at.system(slices.Concat(set, at.set))
	if err != nil {
		return "", err
	}
	info, err := system.Describe()
	if err != nil {
		return "", err
	}
	if _, err := guided.Fit(info); err != nil && at.target.Strategy != "" {
		return at.target.Strategy, nil
	}
	return guidedStrategy, nil
}

// control runs the plan again without the faults and the steering of its scenario, for comparison. Its strategy may
// learn from the statements that it executes.
func (c *runCmd) control(e *Env, plan lockstep.Plan, statements *code.Meter, sum *campaign.Campaign) error {
	if !c.Control {
		return nil
	}
	s, ok := plan.Scenario.(interface{ ControlGroup() *scenario.Scenario })
	if !ok {
		return errors.New("--control needs a --scenario of package scenario, whose faults can be left out")
	}
	plan.Scenario, plan.Runs, plan.KeepGoing, plan.Keep = s.ControlGroup(), max(sum.Result.Runs, 1), true, 1
	plan.OnFailure, plan.Progress, plan.Warming = nil, nil, nil
	if statements != nil {
		plan.Observers = []lockstep.Observer{statements}
	}
	var err error
	sum.Control, err = lockstep.Explore(e.Ctx, plan)
	return err
}

// fromTrace stores one run of a guided campaign with a page and with what the scenario did at each moment. The run is
// the first finding, or else the first run.
func (c *runCmd) fromTrace(e *Env, plan lockstep.Plan, sum *campaign.Campaign) error {
	if c.Scenario == "" {
		return nil
	}
	number, file := 0, ""
	if f := sum.Result.First(); f != nil {
		number, file = f.Run, sum.Trace
	} else {
		t, err := lockstep.Record(e.Ctx, plan, number)
		if err != nil {
			return err
		}
		k, err := e.Keep(plan, t, artifact.Options{
			Dir:      c.Out,
			Name:     artifact.SafeName(fmt.Sprintf("%s-%s-seed%d-run%d", t.Header.Target, c.Scenario, c.Seed, number)),
			NoShrink: true,
		})
		if err != nil {
			return err
		}
		file = k.File
		fmt.Fprintf(e.Err, "lockstep: run %d is in %s and %s\n", number, k.File, k.Page)
	}
	text := file[:len(file)-len(filepath.Ext(file))] + ".txt"
	err := e.write(text, func(w io.Writer) error { return scenario.ExplainRun(e.Ctx, plan, number, w) })
	if err == nil {
		fmt.Fprintf(e.Err, "lockstep: what the scenario made of run %d is in %s\n", number, text)
	}
	return err
}

// guided reports what the scenario did.
func (c *runCmd) guided(r *lockstep.Result) []string {
	if c.Scenario == "" {
		return nil
	}
	return []string{campaign.ScenarioLine(c.Scenario, r)}
}

// controlled reports what the control did.
func controlled(r *lockstep.Result) []string {
	if r == nil {
		return nil
	}
	text := fmt.Sprintf("control without the scenario's faults: %s", words.Count(r.Runs, "run"))
	if scenario.CanSucceed(r) {
		text += fmt.Sprintf(", %d succeeded", scenario.Successes(r))
	}
	return []string{fmt.Sprintf("%s, %d with a finding", text, campaign.Findings(r))}
}
