package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/report/campaign"
)

// groupsShare is the share of the time limit of shrinking that all further groups of findings have together.
const groupsShare = 0.1

// keepGroups shrinks and draws the first finding of each further group; the first of all findings has its page already.
// The groups share a tenth of the time for shrinking the first finding. What one does not need is left to the others.
func (c *runCmd) keepGroups(e *Env, plan lockstep.Plan, sum *campaign.Campaign, found []campaign.Occurrence) error {
	var further []*campaign.Group
	for i := range sum.Groups {
		if g := &sum.Groups[i]; g.Page == "" && g.Trace != "" {
			further = append(further, g)
		}
	}
	limit := artifact.Limit(plan.System, c.ShrinkFor)
	if limit == 0 {
		limit = artifact.DefaultShrinkFor
	}
	end := time.Now().Add(time.Duration(groupsShare * float64(limit)))
	var failed error
	for i, g := range further {
		k := slices.IndexFunc(sum.Result.Failures, func(f lockstep.Failure) bool { return f.Run == g.First })
		o := slices.IndexFunc(found, func(o campaign.Occurrence) bool { return o.Run == g.First })
		share := time.Until(end) / time.Duration(len(further)-i)
		failed = errors.Join(failed, c.keepGroup(e, plan, g, found[o], sum.Result.Failures[k].Flaky != "", share))
	}
	return failed
}

// keepGroup shrinks and draws the first finding of a group within a time. A flaky one is drawn as it was found.
func (c *runCmd) keepGroup(e *Env, plan lockstep.Plan, g *campaign.Group, first campaign.Occurrence, flaky bool,
	share time.Duration) error {
	ctx, cancel := context.WithTimeout(e.Ctx, share)
	defer cancel()
	kept, err := e.keep(ctx, plan, first.Trace, artifact.Options{
		Dir:       filepath.Dir(g.Trace),
		Name:      strings.TrimSuffix(filepath.Base(g.Trace), ".trace"),
		Found:     true,
		NoShrink:  c.NoShrink || flaky,
		ShrinkFor: share,
	})
	g.Trace, g.Page, g.Why = kept.File, kept.Page, kept.Why
	if kept.Shrunk != nil {
		g.Shrunk = howFar(kept.Shrunk)
	}
	return err
}
