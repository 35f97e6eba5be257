package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/report/source"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// countsStatements reports whether the user asked for code coverage, or for a strategy that learns from it.
func (c *runCmd) countsStatements() bool {
	return c.CoverProfile != "" || c.CoverPage != "" || c.CountStatements || c.learnsFrom(lockstep.CodeFeatures)
}

// learnsFrom reports whether the strategy learns from features of a kind. An unknown strategy is an error elsewhere.
func (c *runCmd) learnsFrom(kind string) bool {
	s, err := strategy.Parse(c.Strategy)
	return err == nil && learnsFrom(s, kind)
}

func learnsFrom(s lockstep.Strategy, kind string) bool {
	guided, ok := s.(strategy.Guided)
	return ok && guided.By.String() == kind
}

// byCode and byModel ask for features.
const (
	byCode  = "guided:by=" + lockstep.CodeFeatures
	byModel = "guided:by=" + lockstep.ModelFeatures
)

// asksToCount names the flags that ask for counters of statements.
func (c *runCmd) asksToCount() string {
	if c.learnsFrom(lockstep.CodeFeatures) {
		return "--strategy " + byCode
	}
	return "--coverprofile and --coverpage"
}

// chooseBuild selects the build whose statements have counters, if the user asked for code coverage.
func (c *runCmd) chooseBuild() error {
	if !c.countsStatements() {
		if len(c.CoverPkg) > 0 {
			return errors.New("--coverpkg requires --coverprofile, --coverpage or --strategy " + byCode)
		}
		return nil
	}
	c.build = []string{target.CountedKey + "=" + strings.Join(c.CoverPkg, ",")}
	return nil
}

// countedPackages returns the patterns of the packages whose statements a program counts: the given ones, or those of
// its description. A package of the user's own has no description: then they are those of its module.
func countedPackages(p *target.Program, given string) ([]string, error) {
	if given != "" {
		return strings.Split(given, ","), nil
	}
	return codeUnderTest(p, "its statements cannot be counted; --coverpkg names packages that are part of the program")
}

// codeUnderTest returns the patterns of the packages of a program's description. It is an error if the description
// names none: the text says what follows.
func codeUnderTest(p *target.Program, so string) ([]string, error) {
	patterns := p.Counts()
	if len(patterns) == 0 && p.Module != "" {
		return nil, fmt.Errorf("%s has no Go code under test that the go command builds into it, so %s", p.Name, so)
	}
	return patterns, nil
}

// statements makes the plan count the statements that its runs execute, if the user asked for it.
func (c *runCmd) statements(plan *lockstep.Plan) (*code.Meter, error) {
	if !c.countsStatements() {
		return nil, nil
	}
	return c.countStatements(plan, c.asksToCount(), c.CoverPkg)
}

// countStatements makes a plan count the statements that its runs execute, as some flags ask.
func (x *explored) countStatements(plan *lockstep.Plan, asks string, packages []string) (*code.Meter, error) {
	meter, err := code.NewMeter()
	if errors.Is(err, code.ErrNoCounters) {
		return nil, fmt.Errorf(
			"%s: %s is part of this program, which counts no statements; the go command builds them into targets that it "+
				"builds on demand: %s, or the directory of a main package",
			asks,
			x.Target,
			"etcdserver, hashicorpraft, nats and others",
		)
	}
	if err != nil {
		return nil, err
	}
	if len(meter.Blocks().List) == 0 {
		return nil, fmt.Errorf("--coverpkg %s: no package of %s matches", strings.Join(packages, ","), x.Target)
	}
	plan.System = meter.System(plan.System)
	plan.Observers = append(slices.Clip(plan.Observers), meter)
	return meter, nil
}

// executed puts what the runs executed into the campaign, and writes the profile and the page.
func (c *runCmd) executed(e *Env, meter *code.Meter, sum *campaign.Campaign) error {
	if meter == nil {
		return nil
	}
	if g := c.gathered; g != nil && g.Code != nil {
		if err := meter.Put(*g.Code); err != nil {
			return err
		}
	}
	sum.Code = meter.Report()
	next := meter.NextRun()
	sum.Next = &next
	failed := meter.Err()
	if c.CoverProfile != "" {
		failed = errors.Join(failed, e.write(c.CoverProfile, meter.Profile))
	}
	if c.CoverPage != "" {
		failed = errors.Join(failed, e.write(c.CoverPage, func(w io.Writer) error {
			return source.Page(w, c.Target, meter, target.Sources())
		}))
	}
	return failed
}
