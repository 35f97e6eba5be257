package campaign

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/chart"
	"github.com/lockstep-go/lockstep/report/internal/page"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

//go:embed page.html
var pageHTML string

var pageTemplate = page.Parse("campaign", pageHTML)

// Limits of a campaign page. Longer lists are cut, and the page says so.
const (
	maxGroups   = 100
	maxProblems = 500
	foldGroups  = 12
	maxSamples  = 1000
)

// Page writes a campaign as one self-contained HTML file.
func Page(w io.Writer, c *Campaign) error {
	if c == nil || c.Result == nil {
		return errors.New("campaign: there is no campaign to write a page of")
	}
	d := pageData{Title: "Lockstep campaign: " + plain.Short(c.Result.Target), D: c.Document()}
	if err := d.fill(c); err != nil {
		return err
	}
	return page.Render(w, pageTemplate, d)
}

// ComparePage writes a comparison of strategies as one self-contained HTML file. Rerun is the command that reruns it.
func ComparePage(w io.Writer, r *compare.Result, rerun string) error {
	if r == nil {
		return errors.New("campaign: there is no comparison to write a page of")
	}
	d := pageData{Title: "Lockstep comparison: " + plain.Short(r.Target), Heading: "strategies compared",
		Subtitle: fmt.Sprintf("%s · from seed %d", plain.Clean(r.Target), r.Seed),
		D:        Document{Rerun: rerun, Interrupted: r.Interrupted}}
	d.compare(r)
	return page.Render(w, pageTemplate, d)
}

// pageData is the data of the template of a campaign page.
type pageData struct {
	D        Document
	Title    string
	Heading  string // the verdict
	Class    string
	Subtitle string
	Summary  string // the verdict of a campaign in one line
	Problems []lockstep.Problem
	Cards    []card
	RateText string
	Promise  []string
	Curves   []curve
	Groups   []Group
	More     []Group  // in a collapsed section
	Cut      []string // a note about what was left out
	Verdicts []Effect
	Checked  []Effect
	Compared []comparedRow
}

// Program reports that the page has no script.
func (pageData) Program() bool { return false }

// card is a number at the top of the page.
type card struct{ Value, Label, Class string }

// curve is a chart of one value over the runs.
type curve struct {
	Title, Last string
	Picture     template.HTML
}

func (p *pageData) fill(c *Campaign) error {
	p.Heading, p.Class = string(p.D.Verdict), string(p.D.Verdict)
	p.Subtitle = fmt.Sprintf("%s · %s · seed %d", c.named(), plain.Clean(p.D.Strategy), p.D.Seed)
	if c.Scenario != "" {
		p.Subtitle += " · scenario " + plain.Clean(c.Scenario)
	}
	p.Summary = c.Summary()
	p.problems(p.D.Problems)
	p.fillCards(c)
	p.RateText = rateText(&p.D)
	p.promise()
	if err := p.curves(c.Curve); err != nil {
		return err
	}
	p.Groups = c.Groups
	if len(p.Groups) > maxGroups {
		p.Groups = p.Groups[:maxGroups]
		p.Cut = append(p.Cut, fmt.Sprintf("The first %d of %d groups of findings are shown.", maxGroups, len(c.Groups)))
	}
	if len(p.Groups) > foldGroups {
		p.Groups, p.More = p.Groups[:foldGroups], p.Groups[foldGroups:]
	}
	p.Cut = append(p.Cut, fmt.Sprintf("Texts are cut after %d characters and then end in …", plain.MaxText))
	for _, v := range []trace.Verdict{trace.Pass, trace.Fail, trace.Unknown, trace.Vacuous, trace.Flaky} {
		if n := p.D.Verdicts[string(v)]; n > 0 {
			p.Verdicts = append(p.Verdicts, Effect{string(v), n})
		}
	}
	for _, name := range plain.Keys(p.D.Checked) {
		n := lockstep.NotCounted
		if counted := p.D.Checked[name]; counted != nil {
			n = *counted
		}
		p.Checked = append(p.Checked, Effect{name, n})
	}
	return nil
}

func (p *pageData) fillCards(c *Campaign) {
	bad := ""
	if p.D.Findings > 0 {
		bad = "bad"
	}
	p.Cards = []card{
		{plain.Number(float64(p.D.Runs)), words.Plural(p.D.Runs, "run"), ""},
		{plain.Number(float64(p.D.Findings)), words.Plural(p.D.Findings, "finding"), bad},
	}
	if p.D.FirstRun != nil {
		p.Cards = append(p.Cards, card{fmt.Sprint(*p.D.FirstRun), "first finding in run", ""})
	}
	rate := p.D.FailureRate
	p.Cards = append(
		p.Cards,
		card{percent(rate.Upper), fmt.Sprintf("failure rate at most (%.3g%% confidence)", rate.Confidence*100), ""},
		card{
			plain.Number(float64(p.D.Steps)),
			words.Plural(p.D.Steps, "step"),
			"",
		},
		card{plain.Number(float64(p.D.Messages)), words.Plural(p.D.Messages, "message"), ""},
		card{plain.Number(p.D.RunsPerS), "runs per second", ""},
		card{c.Elapsed.Round(10 * time.Millisecond).String(), "elapsed", ""},
	)
}

// curves draws the progress of the campaign.
func (p *pageData) curves(samples []Sample) error {
	if len(samples) > maxSamples {
		p.Cut = append(p.Cut, fmt.Sprintf("The curves show %d of %d samples.", maxSamples, len(samples)))
		samples = thin(samples, maxSamples)
	}
	if len(samples) == 0 || samples[len(samples)-1].Runs == 0 {
		return nil
	}
	for _, c := range []struct {
		title string
		value func(Sample) int
	}{
		{"distinct states (of some runs)", func(s Sample) int { return s.States }},
		{"distinct schedules", func(s Sample) int { return s.Schedules }},
		{"findings", func(s Sample) int { return s.Findings }},
	} {
		line := chart.Line{Name: c.title, Area: true, Points: []chart.Point{{}}}
		for _, s := range samples {
			line.Points = append(line.Points, chart.Point{X: float64(s.Runs), Y: float64(c.value(s))})
		}
		var b strings.Builder
		if err := (chart.Chart{
			Title: c.title,
			X:     "runs",
			Top:   1,
			Class: "curve",
			Lines: []chart.Line{line},
		}).SVG(&b); err != nil {
			return err
		}
		p.Curves = append(p.Curves,
			curve{c.title, plain.Number(float64(c.value(samples[len(samples)-1]))), template.HTML(b.String())})
	}
	return nil
}

// thin keeps this number of evenly spread samples, including the last one.
func thin(s []Sample, keep int) []Sample {
	out := make([]Sample, 0, keep)
	for i := range keep {
		out = append(out, s[(i+1)*len(s)/keep-1])
	}
	return out
}

// NextRun says what the campaign says about its next run.
func (p pageData) NextRun() string {
	return "The next run " + nextRun(*p.D.NextRun) +
		" (after Good and Turing; the limits assume that runs are independent draws)."
}

// promise writes the guarantee and its assumptions as text.
func (p *pageData) promise() {
	g := p.D.Guarantee
	if g.Text == "" {
		return
	}
	if g.Certain {
		p.Promise = append(p.Promise, "For these runs: "+plain.Short(g.Text)+".")
		return
	}
	p.Promise = append(p.Promise, "For one run: "+plain.Short(g.Text)+".")
	if g.PerRun > 0 {
		p.Promise = append(
			p.Promise,
			fmt.Sprintf(
				"After %s the chance to have hit any given target of that kind is at least %s; for 95%% it takes %s.",
				words.These(p.D.Runs, "run"), percent(g.AllRuns), orMany(g.RunsFor95)),
		)
		if len(g.Assumes) > 0 {
			p.Promise = append(p.Promise, "Assumptions: "+plain.Clean(strings.Join(g.Assumes, "; "))+".")
		}
	}
}

// rateText explains the number of findings, and the assumption behind the explanation.
func rateText(d *Document) string {
	r := d.FailureRate
	text := fmt.Sprintf("With %.3g%% confidence a run under this strategy fails with a probability of at most %s",
		r.Confidence*100, percent(r.Upper))
	if r.Lower > 0 {
		text += fmt.Sprintf(", and with the same confidence of at least %s", percent(r.Lower))
	}
	return text + fmt.Sprintf(
		" (exact binomial limits for %s in %s, which assume that runs are independent draws). It says nothing about "+
			"schedules that the strategy does not make.",
		words.Count(d.Verdicts[string(trace.Fail)], "finding"),
		words.Count(d.Runs, "run"),
	)
}

func percent(p float64) string {
	switch {
	case p <= 0:
		return "0%"
	case p < 1e-4:
		return fmt.Sprintf("%.2g", p)
	case p > 0.9999 && p < 1:
		return "more than 99.99%"
	default:
		return fmt.Sprintf("%.3g%%", p*100)
	}
}

// problems shows a list of problems, of which a long one is cut.
func (p *pageData) problems(list []lockstep.Problem) {
	p.Problems = list
	if n := len(list); n > maxProblems {
		p.Problems = list[:maxProblems]
		p.Cut = append(p.Cut, fmt.Sprintf("The first %d of %d problems are shown.", maxProblems, n))
	}
}

// comparedRow is a strategy with its bar.
type comparedRow struct {
	Row            *compare.Row
	Most           int // the largest number of runs of a campaign
	Bar, Low, High int
}

// compare scales the bars of compared strategies logarithmically: runs to a finding differ by orders of magnitude.
func (p *pageData) compare(r *compare.Result) {
	const width = 260
	runs, steps, found := int64(0), int64(0), 0
	scale := func(v int) int {
		if v == 0 { // beyond the budget
			v = r.Runs
		}
		return int(math.Log1p(float64(v)) / math.Log1p(float64(max(r.Runs, 1))) * width)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		runs, steps, found = runs+row.TotalRuns, steps+row.TotalSteps, found+row.Found
		if row.Campaigns > 0 {
			p.Compared = append(p.Compared,
				comparedRow{row, r.Runs, scale(row.Median), scale(row.MedianLow), scale(row.MedianHigh)})
		}
	}
	p.problems(r.Problems())
	p.Cards = []card{
		{plain.Number(float64(len(r.Rows))), words.Plural(len(r.Rows), "strategy"), ""},
		{plain.Number(float64(runs)), words.Plural(runs, "run"), ""},
		{
			plain.Number(float64(found)),
			words.Plural(found, "campaign with a finding"),
			"",
		},
		{plain.Number(float64(steps)), words.Plural(steps, "step"), ""},
	}
}

// Runs formats a number of runs as text: 0 stands for more than there were.
func (c comparedRow) Runs(n int) string {
	if n == 0 {
		return fmt.Sprintf(">%d", c.Most)
	}
	return fmt.Sprint(n)
}
