package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
)

// Defaults of a comparison.
const (
	DefaultRepeat     = 10
	DefaultConfidence = 0.95
	maxRepeat         = 50
)

// Comparison is the configuration of a comparison.
type Comparison struct {
	// Plan is the common plan of all campaigns. Its Strategy is not used, and each campaign ends with the first
	// finding. Runs is the budget of one campaign.
	Plan lockstep.Plan
	// Strategies are the strategies to compare.
	Strategies []lockstep.Strategy
	// Repeat is the number of campaigns with each strategy, at most 50; 0 means DefaultRepeat.
	Repeat int
	// Confidence is the confidence of the intervals; 0 means DefaultConfidence.
	Confidence float64
	// Clock, if set, returns the time since any fixed moment.
	Clock func() time.Duration
	// Progress, if set, is called after each campaign with the row so far, without the intervals.
	Progress func(Row)
}

// Result is the result of a comparison.
type Result struct {
	Target     string  `json:"target"`
	Seed       uint64  `json:"seed"`
	Runs       int     `json:"runs"` // of one campaign, at most
	Repeat     int     `json:"repeat"`
	Confidence float64 `json:"confidence"`
	Rows       []Row   `json:"strategies"`
	// Interrupted says that the context ended before the campaigns did.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Row is the result of the campaigns with one strategy.
type Row struct {
	// Strategy is the strategy with all parameters that it learned in its last campaign.
	Strategy  string `json:"strategy"`
	Campaigns int    `json:"campaigns"`
	Found     int    `json:"found"`   // campaigns with a finding
	Nothing   int    `json:"nothing"` // campaigns without a finding
	// Diverged is the number of campaigns with a divergence. The system is not deterministic, so the figures mean
	// little.
	Diverged int `json:"diverged,omitempty"`
	// Problems are the problems that the campaigns report, one for each kind, severity and property.
	Problems []Problem `json:"problems,omitempty"`
	// First lists, for each campaign, the number of runs up to and including the first finding; 0 means that the
	// campaign found nothing.
	First []int `json:"runs_to_first"`
	// Median is the median of First. MedianLow and MedianHigh are a distribution-free interval for it. 0, which JSON
	// omits, means beyond the budget.
	Median     int `json:"median_runs,omitempty"`
	MedianLow  int `json:"median_runs_low,omitempty"`
	MedianHigh int `json:"median_runs_high,omitempty"`
	// TotalRuns and TotalSteps are the sums over all campaigns.
	TotalRuns  int64 `json:"total_runs"`
	TotalSteps int64 `json:"total_steps"`
	// HitRate is the share of runs with a finding, and Hits is an exact interval for their probability. Hits is missing
	// for a strategy whose runs are not independent.
	HitRate float64   `json:"hit_rate"`
	Hits    *Interval `json:"hit_rate_interval,omitempty"`
	// Seconds lists the duration of each campaign, if there is a clock.
	Seconds []float64 `json:"seconds,omitempty"`
	// Reached describes the progress of a strategy that enumerates a space.
	Reached string `json:"reached,omitempty"`
}

// Problem is a problem of one or more campaigns. It counts the runs of all of them. The text is that of the first
// campaign. It has no list of runs, because each campaign has its own seed.
type Problem struct {
	lockstep.Problem
	Campaigns int `json:"campaigns"`
}

// Problems lists the problems of all strategies, with a text that names the strategy and the number of campaigns.
func (r *Result) Problems() (list []lockstep.Problem) {
	for _, row := range r.Rows {
		for _, p := range row.Problems {
			p.Text = fmt.Sprintf("%s: in %d of %s: %s", row.Strategy, p.Campaigns,
				words.Count(row.Campaigns, "campaign"), p.Text)
			list = append(list, p.Problem)
		}
	}
	return list
}

// Strategies runs the campaigns, strategy by strategy. If a plan cannot be run, it returns an error and the rows
// completed until then.
func Strategies(ctx context.Context, c Comparison) (*Result, error) {
	if c.Repeat == 0 {
		c.Repeat = DefaultRepeat
	}
	if c.Confidence == 0 {
		c.Confidence = DefaultConfidence
	}
	if c.Plan.Runs == 0 {
		c.Plan.Runs = lockstep.DefaultRuns
	}
	c.Plan.KeepGoing = false
	if err := c.check(); err != nil {
		return nil, err
	}
	info, err := c.Plan.System.Describe()
	if err != nil {
		return nil, err
	}
	r := &Result{Target: info.Name, Seed: c.Plan.Seed, Runs: c.Plan.Runs, Repeat: c.Repeat, Confidence: c.Confidence}
	for _, s := range c.Strategies {
		if _, err := s.Fit(info); err != nil { // report a misfit before any campaign takes time
			return nil, err
		}
	}
	for _, s := range c.Strategies {
		row, err := c.row(ctx, s, info)
		r.Rows = append(r.Rows, row)
		if err != nil {
			return r, err
		}
		if ctx.Err() != nil {
			r.Interrupted = true
			break
		}
	}
	return r, nil
}

func (c *Comparison) check() error {
	switch {
	case c.Plan.System == nil:
		return errors.New("compare: the plan has no System")
	case len(c.Strategies) == 0:
		return errors.New("compare: there is no strategy to compare")
	case c.Repeat < 1 || c.Repeat > maxRepeat:
		return fmt.Errorf("compare: repeat is %d, allowed are 1..%d", c.Repeat, maxRepeat)
	case !(c.Confidence > 0 && c.Confidence < 1):
		return fmt.Errorf("compare: confidence is %v, allowed is (0,1)", c.Confidence)
	case c.Plan.Runs < 0:
		return fmt.Errorf("compare: runs is %d, it must not be negative", c.Plan.Runs)
	}
	return nil
}

// row runs the campaigns with one strategy. Each campaign has its own seed; the seeds are the same for every strategy.
func (c *Comparison) row(ctx context.Context, s lockstep.Strategy, info lockstep.Info) (Row, error) {
	row := Row{Strategy: s.String()}
	for i := range c.Repeat {
		plan := c.Plan
		plan.Strategy, plan.Seed = s, lockstep.RunSeed(c.Plan.Seed, i)
		var begin time.Duration
		if c.Clock != nil {
			begin = c.Clock()
		}
		result, err := lockstep.Explore(ctx, plan)
		if err != nil {
			return row, err
		}
		if result.Interrupted {
			break
		}
		if c.Clock != nil {
			row.Seconds = append(row.Seconds, (c.Clock() - begin).Seconds())
		}
		row.add(result)
		if c.Progress != nil {
			c.Progress(row)
		}
	}
	if row.Campaigns > 0 {
		row.conclude(independent(s, info), c.Plan.Runs, c.Confidence)
	}
	return row, nil
}

// add adds the result of a campaign.
func (r *Row) add(result *lockstep.Result) {
	r.Strategy, r.Reached = result.Strategy, result.Reached
	r.Campaigns++
	r.TotalRuns += int64(result.Runs)
	r.TotalSteps += result.Steps
	if result.Diverged > 0 {
		r.Diverged++
	}
	r.addProblems(result.Problems())
	if first := result.First(); first != nil {
		r.Found++
		r.First = append(r.First, first.Run+1)
	} else {
		r.Nothing++
		r.First = append(r.First, 0)
	}
}

// addProblems adds the problems of a campaign. A campaign counts once for each problem, however often it lists it.
func (r *Row) addProblems(list []lockstep.Problem) {
	counted := map[int]bool{}
	for _, p := range list {
		at := slices.IndexFunc(r.Problems, func(q Problem) bool {
			return q.Kind == p.Kind && q.Severity == p.Severity && q.Property == p.Property
		})
		if at < 0 {
			at, p.Runs = len(r.Problems), nil
			r.Problems = append(r.Problems, Problem{Problem: p})
		} else {
			r.Problems[at].Count += p.Count
		}
		if !counted[at] {
			counted[at] = true
			r.Problems[at].Campaigns++
		}
	}
}

// conclude computes the statistics of the campaigns.
func (r *Row) conclude(independent bool, limit int, confidence float64) {
	r.Median, r.MedianLow, r.MedianHigh = Median(r.First, confidence)
	r.HitRate = float64(r.Found) / float64(r.TotalRuns)
	if independent {
		hits := HitRate(r.First, limit, confidence)
		r.Hits = &hits
	}
}

// independent reports whether the runs of a strategy are independent of each other.
func independent(s lockstep.Strategy, info lockstep.Info) bool {
	t, err := s.Fit(info)
	return err == nil && !t.Sequential && t.Runs == 0
}

// WriteText writes the comparison as a table.
func (r *Result) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w,
		"%s: %d campaigns of at most %d runs with each strategy, seed %d; intervals have confidence %g\n\n", r.Target,
		r.Repeat, r.Runs, r.Seed, r.Confidence)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "strategy\twith finding\twithout\truns to first finding (median)\tfailures per run\tsteps per run")
	timed := len(r.Rows) > 0 && len(r.Rows[0].Seconds) > 0
	if timed {
		fmt.Fprint(t, "\tseconds per campaign (mean)")
	}
	fmt.Fprintln(t)
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%.0f", row.Strategy, row.Found, row.Nothing, row.medianText(r.Runs),
			row.hitsText(), float64(row.TotalSteps)/float64(max(row.TotalRuns, 1)))
		if timed {
			sum := 0.0
			for _, s := range row.Seconds {
				sum += s
			}
			fmt.Fprintf(t, "\t%.3g", sum/float64(max(len(row.Seconds), 1)))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, p := range r.Problems() {
		if p.Kind != lockstep.ProblemFailure { // the table has the findings
			words.Printf(w, "%s: %s\n", p.Severity, p.Text)
		}
	}
	return nil
}

// medianText returns the median with its interval, e.g. "120 [30, >1000]".
func (r *Row) medianText(limit int) string {
	text := func(n int) string {
		if n == 0 {
			return fmt.Sprintf(">%d", limit)
		}
		return fmt.Sprint(n)
	}
	if r.Campaigns == 0 {
		return "-"
	}
	return fmt.Sprintf("%s [%s, %s]", text(r.Median), text(r.MedianLow), text(r.MedianHigh))
}

func (r *Row) hitsText() string {
	if r.Hits == nil {
		return "-"
	}
	return fmt.Sprintf("%.2g [%.2g, %.2g]", r.HitRate, r.Hits.Low, r.Hits.High)
}
