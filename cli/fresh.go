package cli

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/campaign"
)

// The limits of reruns in fresh processes: the number of findings of one group, and of findings of a campaign.
const (
	freshOfGroup = 3
	freshInAll   = 20
)

// fresh reruns findings of each group in fresh processes, until one of the group is the same there. What differs there
// depends on earlier runs of its process, and is flaky. If no finding of the group was the same, this holds for all of
// the group. The first finding of the campaign was rerun when it was stored.
func (c *runCmd) fresh(e *Env, plan lockstep.Plan, sum *campaign.Campaign, found []campaign.Occurrence) {
	if info, err := plan.System.Describe(); err != nil || info.Recheck == 0 {
		return
	}
	left, members := freshInAll, membersOf(found)
	for _, g := range sum.Groups {
		tried, different := 0, ""
		for _, i := range members[[2]string{g.Property, g.Shape}] {
			if sum.Result.Failures[i].Flaky != "" { // nothing is left to rerun
				continue
			}
			if i == 0 || tried == freshOfGroup || left == 0 || e.Interrupted() {
				break
			}
			tried, left = tried+1, left-1
			text, differs := artifact.Fresh(e.Ctx, plan, found[i].Trace, found[i].File, e.fresh(e.allowances(plan)))
			if !differs {
				different = ""
				e.note(text, found[i].Run)
				break
			}
			different = fmt.Sprintf("run %d of the same kind: %s", found[i].Run, text)
			sum.Result.MarkFlaky(i, text)
		}
		if different != "" {
			for _, i := range members[[2]string{g.Property, g.Shape}] {
				sum.Result.MarkFlaky(i, different)
			}
		}
	}
}

// note reports how the rerun of a run ended, if there was one.
func (e *Env) note(text string, run int) {
	if text != "" {
		fmt.Fprintf(e.Err, "lockstep: run %d: %s\n", run, text)
	}
}

// membersOf returns the positions of the findings of each group, by property and shape.
func membersOf(found []campaign.Occurrence) map[[2]string][]int {
	members := map[[2]string][]int{}
	for i, o := range found {
		if f := o.Trace.Outcome.Finding; f != nil {
			key := [2]string{f.Property, report.Shape(o.Trace)}
			members[key] = append(members[key], i)
		}
	}
	return members
}
