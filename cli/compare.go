package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

type compareCmd struct {
	explored
	Strategies []string `required:"" sep:"none" placeholder:"S,S,..." help:"Strategies to compare, separated by commas or blanks; may be repeated."`
	Runs       int      `default:"10000" placeholder:"N" help:"Most runs of one campaign (${default})."`
	Repeat     int      `default:"10" placeholder:"R" help:"Campaigns with each strategy (${default})."`
	Report     string   `placeholder:"FILE" help:"Write the comparison as an HTML page with a plot."`
	JSON       bool     `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (compareCmd) Help() string {
	return `Each strategy makes several campaigns. A campaign ends with its first finding. The table has the number of campaigns
with a finding and without one, and the median number of runs to the first finding, with exact intervals.

Examples:
  lockstep compare smr-bug --strategies uniform,walk,baseline
  lockstep compare smr-bug --strategies 'uniform:isolations=6,rounds=24 pctcp:depth=4' --repeat 20 --json`
}

// compared is the JSON output of a comparison.
type compared struct {
	Verdict trace.Verdict `json:"verdict"`
	*compare.Result
	ElapsedMS   int64 `json:"elapsed_ms"`
	Interrupted bool  `json:"interrupted"`
}

// Run compares the strategies.
func (c *compareCmd) Run(e *Env) error {
	strategies, err := ParseStrategies(c.Strategies)
	if err != nil {
		return err
	}
	counts := c.learn(strategies, lockstep.CodeFeatures)
	if counts {
		c.build = []string{target.CountedKey + "="}
	}
	at, err := c.here(e)
	if err != nil {
		return err
	}
	if err := notNegative("runs", int64(c.Runs)); err != nil {
		return err
	}
	plan, err := c.plan(e, at, nil)
	if err != nil {
		return err
	}
	plan.Runs = c.Runs
	if err := c.offer(&plan, strategies, counts); err != nil {
		return err
	}
	start, show := time.Now(), e.Progress(0, 0)
	result, err := compare.Strategies(e.Ctx, compare.Comparison{Plan: plan, Strategies: strategies, Repeat: c.Repeat,
		Clock: func() time.Duration { return time.Since(start) },
		Progress: func(r compare.Row) {
			_ = show.Show(func(time.Duration) string {
				return fmt.Sprintf("%s: %d campaigns, %d found something", r.Strategy, r.Campaigns, r.Found)
			})
		}})
	_ = show.Done()
	if result == nil {
		return err
	}
	problems := result.Problems()
	out := compared{
		Verdict:     lockstep.VerdictOf(problems),
		Result:      result,
		ElapsedMS:   time.Since(start).Milliseconds(),
		Interrupted: result.Interrupted,
	}
	if result.Interrupted && out.Verdict == trace.Pass {
		out.Verdict = trace.Unknown
	}
	e.Report(problems)
	return errors.Join(err, c.print(e, &out))
}

// learn reports whether a strategy learns from features of a kind.
func (c *compareCmd) learn(strategies []lockstep.Strategy, kind string) bool {
	return slices.ContainsFunc(strategies, func(s lockstep.Strategy) bool { return learnsFrom(s, kind) })
}

// offer makes the plan offer the features from which strategies learn. Statements are then counted for all strategies,
// so that the time of their runs can be compared.
func (c *compareCmd) offer(plan *lockstep.Plan, strategies []lockstep.Strategy, counts bool) error {
	if c.learn(strategies, lockstep.ModelFeatures) && c.Conform == "" {
		return errors.New("--strategies " + byModel + " needs --conform, which names the model")
	}
	if !counts {
		return nil
	}
	_, err := c.countStatements(plan, "--strategies "+byCode, nil)
	return err
}

// print writes the comparison.
func (c *compareCmd) print(e *Env, out *compared) error {
	var failed error
	if c.Report != "" {
		failed = e.write(c.Report, func(w io.Writer) error { return campaign.ComparePage(w, out.Result, c.again(e)) })
	}
	if c.JSON {
		return errors.Join(e.JSON(out), failed)
	}
	err := out.WriteText(e.Out)
	e.Partial("campaigns made")
	return errors.Join(err, failed)
}

// again returns the command line that reruns the comparison.
func (c *compareCmd) again(e *Env) string {
	words := append(
		[]string{e.Self, "compare", c.Target, "--strategies", strings.Join(c.Strategies, " ")},
		c.words()...)
	return commandLine(
		append(words, "--runs", strconv.Itoa(c.Runs), "--repeat", strconv.Itoa(c.Repeat), "--seed", fmt.Sprint(c.Seed)))
}

// ParseStrategies parses lists of strategies. A comma separates two strategies if the name of a strategy follows, and
// else two options of one strategy.
func ParseStrategies(lists []string) ([]lockstep.Strategy, error) {
	var all []lockstep.Strategy
	for _, list := range lists {
		for _, text := range SplitStrategies(list) {
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
