package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/campaign"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

type compareCmd struct {
	Target     string   `arg:"" help:"What to test; lockstep list names them."`
	Strategies []string `required:"" sep:"none" placeholder:"S,S,..." help:"Strategies to compare, separated by commas or blanks; may be repeated."`
	Nodes      *int     `placeholder:"N" help:"Number of nodes."`
	Set        []string `placeholder:"K=V" sep:"none" help:"Option of the target; may be repeated."`
	Steps      int      `placeholder:"N" help:"Length of a run in steps; 0 leaves it to the strategy."`
	Settle     *int     `placeholder:"N" help:"Steps of the settling stage; the target's unless given."`
	Runs       int      `default:"10000" placeholder:"N" help:"Most runs of one campaign (${default})."`
	Repeat     int      `default:"10" placeholder:"R" help:"Campaigns with each strategy (${default})."`
	Seed       uint64   `placeholder:"X" help:"Seed of the first campaign."`
	Workers    int      `placeholder:"W" help:"Runs at once; 0 is one for each processor."`
	Report     string   `placeholder:"FILE" help:"Write the comparison as an HTML page with a plot."`
	JSON       bool     `name:"json" help:"Print one JSON object."`
}

// Help implements kong's longer help.
func (compareCmd) Help() string {
	return `Runs to the first finding, with exact intervals.

Examples:
  lockstep compare smr-bug --strategies uniform,walk,baseline
  lockstep compare smr-bug --strategies 'uniform:isolations=6,rounds=24 pctcp:depth=4' --repeat 20 --json`
}

// Run implements the command.
func (c *compareCmd) Run(e *env) error {
	common := runCmd{Target: c.Target, Strategy: "walk", Nodes: c.Nodes, Set: c.Set, Steps: c.Steps, Settle: c.Settle,
		Runs: c.Runs, Seed: c.Seed, Workers: c.Workers}
	plan, err := common.plan()
	if err != nil {
		return err
	}
	strategies, err := parseStrategies(c.Strategies)
	if err != nil {
		return err
	}
	start, show := time.Now(), newProgress(e.err, 0, 0)
	result, err := campaign.Compare(e.ctx, campaign.Comparison{Plan: plan, Strategies: strategies, Repeat: c.Repeat,
		Clock: func() time.Duration { return time.Since(start) },
		Progress: func(r campaign.Row) {
			_ = show.Show(func(time.Duration) string {
				return fmt.Sprintf("%s: %d campaigns, %d found something", r.Strategy, r.Campaigns, r.Found)
			})
		}})
	_ = show.Done()
	if result == nil {
		return err
	}
	for _, row := range result.Rows {
		if row.Found > 0 {
			e.status = statusFinding
		}
	}
	if c.Report != "" {
		page := comparison(result)
		page.Again = "lockstep compare " + c.Target + " --strategies " + quoted(strings.Join(c.Strategies, " "))
		err = errors.Join(err, e.write(c.Report, func(w io.Writer) error { return report.CampaignPage(w, page) }))
	}
	if c.JSON {
		return errors.Join(err, writeJSON(e.out, result))
	}
	return errors.Join(err, result.WriteText(e.out))
}

// comparison is a comparison as a campaign's page shows it.
func comparison(r *campaign.Result) *report.Campaign {
	c := &report.Campaign{Target: r.Target, Seed: r.Seed, Verdict: trace.Pass, Interrupted: r.Interrupted}
	for _, row := range r.Rows {
		c.Runs += int(row.TotalRuns)
		c.Steps += row.TotalSteps
		c.Findings += row.Found
		if row.Found > 0 {
			c.Verdict = trace.Fail
		}
		c.Compared = append(c.Compared, report.Compared{Strategy: row.Strategy, Repeats: row.Campaigns, Found: row.Found,
			Median: float64(row.Median), Lower: float64(row.MedianLow), Upper: float64(row.MedianHigh)})
	}
	return c
}

// parseStrategies reads lists of strategies. A comma separates two strategies where what
// follows it is the name of one, and two options of one strategy elsewhere.
func parseStrategies(lists []string) ([]lockstep.Strategy, error) {
	var all []lockstep.Strategy
	for _, list := range lists {
		for _, text := range splitStrategies(list) {
			s, err := strategy.Parse(text)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("--strategies names no strategy")
	}
	return all, nil
}
