package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Model is a model that runs are compared with. All fields are set.
type Model struct {
	// Spec checks that runs are behaviors of the model.
	Spec lockstep.Spec
	// Fits reports why the runs of a system cannot be compared with the model; nil: they can.
	Fits func(lockstep.Info) error
	// Visits returns what passing runs visited since the last call.
	Visits func() *model.Visits
	// Reach searches the model for all that runs of a system can visit, to a bound that the result names.
	Reach func(context.Context, lockstep.Info) (*model.Reach, error)
}

// conforming has the flags that compare runs with a model.
type conforming struct {
	Conform      string `placeholder:"FILE" help:"Check that runs are behaviors of the model in this file, a program in Distal, in addition to the target's spec."`
	ConformAlone bool   `help:"With --conform: check that alone, without the target's spec."`
}

// words returns the flags as the user gave them.
func (c conforming) words() (words []string) {
	if c.Conform != "" {
		words = append(words, "--conform", c.Conform)
	}
	if c.ConformAlone {
		words = append(words, "--conform-alone")
	}
	return words
}

// conform adds a model to the spec of a plan. Without a file it does nothing.
func (e *Env) conform(plan *lockstep.Plan, c conforming) error {
	file := c.Conform
	switch {
	case file == "" && c.ConformAlone:
		return errors.New("--conform-alone needs --conform, which names the model")
	case file == "":
		return nil
	}
	if e.app.Conform == nil {
		return errors.New("--conform: this program reads no models; its main function sets cli.App.Conform to do so")
	}
	m, err := e.app.Conform(file)
	if err != nil {
		return err
	}
	info, err := plan.System.Describe()
	if err != nil {
		return err
	}
	if err := m.Fits(info); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	e.conformance, e.conformed = m, c
	if c.ConformAlone {
		plan.Spec = nil
	}
	plan.Spec = beside(plan.Spec, m.Spec)
	return nil
}

// beside is a plan's spec, which may be nil, with another one.
func beside(s, other lockstep.Spec) lockstep.Spec {
	if s == nil {
		return other
	}
	return spec.All(s, other)
}

// visited puts what a campaign visited of its model into the summary. A campaign that ended with a finding may have
// made more runs than it counts, so that it says nothing.
func (c *runCmd) visited(e *Env, plan lockstep.Plan, sum *campaign.Campaign) error {
	if e.conformance == nil || !c.KeepGoing && c.suite == nil && len(sum.Result.Failures) > 0 {
		return nil
	}
	visits := e.conformance.Visits()
	if g := c.gathered; g != nil {
		visits = g.Model
	}
	if visits == nil || visits.Runs == 0 {
		return nil
	}
	visits.Runs = sum.Result.Verdicts[trace.Pass] // not those that were repeated
	info, err := plan.System.Describe()
	if err != nil {
		return err
	}
	reach, err := e.conformance.Reach(e.Ctx, info)
	if err == nil {
		sum.Model = model.Of(visits, reach)
	}
	return err
}
