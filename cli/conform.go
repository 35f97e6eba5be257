package cli

import (
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

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
	model, err := e.app.Conform(file)
	if err != nil {
		return err
	}
	info, err := plan.System.Describe()
	if err != nil {
		return err
	}
	if m, ok := model.(interface{ Fits(lockstep.Info) error }); ok {
		if err := m.Fits(info); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	e.conformance, e.conformed = model, c
	if plan.Spec == nil || c.ConformAlone {
		plan.Spec = model
	} else {
		plan.Spec = spec.All(plan.Spec, model)
	}
	return nil
}

// modelNotes says what a campaign exercised of its model. Runs of other processes are not known here, and a campaign
// that ended with a finding may have made more of them than it counts.
func (c *runCmd) modelNotes(e *Env, r *lockstep.Result) []string {
	m, ok := e.conformance.(interface{ Notes() []string })
	if !ok || c.gathered != nil || len(r.Failures) > 0 {
		return nil
	}
	return m.Notes()
}
