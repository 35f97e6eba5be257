package cli

import (
	"errors"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/report/campaign"
)

// Suite is a suite of tests. All fields are set.
type Suite struct {
	// Strategy executes one test in each run, and Tests is the number of tests.
	Strategy lockstep.Strategy
	Tests    int
	// Spec gives runs that diverge from their test the verdict unknown.
	Spec lockstep.Spec
	// Result is what the runs so far did with the tests.
	Result func() *model.Suite
}

// checkSuite refuses flags that exclude a suite.
func (c *runCmd) checkSuite() error {
	if c.Suite == "" {
		return nil
	}
	if c.FromFile {
		return errors.New("--suite names files to read, which a trace or plan must not choose")
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"--strategy", c.Strategy != ""}, {"--runs", c.Runs != 0}, {"--for", c.For != 0}, {"--scenario", c.Scenario != ""},
		{"--fleet", c.Fleet != ""}, {"--closure", c.Closure},
	} {
		if f.set {
			return errors.New("--suite makes one run of each test, so that it excludes " + f.name)
		}
	}
	return nil
}

// useSuite makes a plan execute a suite: every test once, also after a finding.
func (c *runCmd) useSuite(e *Env, plan *lockstep.Plan) error {
	if e.app.Suite == nil {
		return errors.New("--suite: this program executes no suites; its main function sets cli.App.Suite to do so")
	}
	s, err := e.app.Suite(c.Suite)
	if err != nil {
		return err
	}
	c.suite = s
	plan.Strategy, plan.Runs, plan.KeepGoing, plan.Distinct = s.Strategy, s.Tests, true, c.Report != ""
	plan.Spec = beside(plan.Spec, s.Spec)
	return nil
}

// realized puts what the runs did with the tests of a suite into the summary. A test that was not realized counts as a
// finding for the exit status.
func (c *runCmd) realized(e *Env, sum *campaign.Campaign) {
	if c.suite == nil {
		return
	}
	sum.Suite = c.suite.Result()
	if len(sum.Suite.Diverged) > 0 || sum.Suite.Ended > 0 {
		e.Found()
	}
}
