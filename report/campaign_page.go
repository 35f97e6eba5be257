package report

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/lockstep-go/lockstep/trace"
)

//go:embed campaign.html
var campaignHTML string

var campaignTemplate = parse("campaign", campaignHTML)

// Limits of a campaign page: longer lists are cut, and the page says so.
const (
	maxGroups  = 100
	foldGroups = 12
	maxSamples = 1000
)

// CampaignPage writes a campaign as one HTML file that needs nothing else. Where the
// campaign has no failure rate, it is computed from the numbers of runs and findings with
// DefaultConfidence.
func CampaignPage(w io.Writer, c *Campaign) error {
	if c == nil {
		return errors.New("report: no campaign to write a page of")
	}
	d := campaignData{C: c, Title: "Lockstep campaign: " + cut(clean(c.Target), DefaultMaxText), Rate: c.FailureRate}
	if d.Rate == nil {
		r := FailureRate(c.Runs, c.Findings, DefaultConfidence)
		d.Rate = &r
	}
	d.fill()
	return render(w, campaignTemplate, d)
}

// campaignData is what the template of a campaign page is made from.
type campaignData struct {
	C        *Campaign
	Title    string
	Heading  string // the verdict
	Class    string
	Subtitle string
	Cards    []card
	Rate     *Rate
	RateText string
	Promise  []string
	Curves   []curve
	Groups   []Group
	More     []Group  // behind a fold
	Cut      []string // what was left out
	Verdicts []Effect
	Judged   []Effect
	Compared []comparedRow
}

// Program says that the page has no program.
func (campaignData) Program() bool { return false }

// card is a number at the top of the page.
type card struct{ Value, Label, Class string }

// comparedRow is a strategy with its bar.
type comparedRow struct {
	Compared
	Bar, Low, High int
}

func (d *campaignData) fill() {
	c := d.C
	d.Heading, d.Class = string(c.Verdict), string(c.Verdict)
	if c.comparison() {
		d.fillComparison()
		return
	}
	d.Subtitle = fmt.Sprintf("%s · %s · seed %d", named(c.Target, c.Options), clean(c.Strategy), c.Seed)
	if c.Scenario != "" {
		d.Subtitle += " · scenario " + clean(c.Scenario)
	}
	bad := ""
	if c.Findings > 0 {
		bad = "bad"
	}
	d.Cards = []card{{short(float64(c.Runs)), "runs", ""}, {short(float64(c.Findings)), "findings", bad}}
	if c.FirstRun != nil {
		d.Cards = append(d.Cards, card{fmt.Sprint(*c.FirstRun), "first finding in run", ""})
	}
	d.Cards = append(d.Cards, card{percent(d.Rate.Upper), fmt.Sprintf("failure rate at most (%.3g%% confidence)", d.Rate.Confidence*100), ""},
		card{short(float64(c.Steps)), "steps", ""}, card{short(float64(c.Messages)), "messages", ""},
		card{short(c.RunsPerS), "runs per second", ""},
		card{(time.Duration(c.ElapsedMS) * time.Millisecond).Round(10 * time.Millisecond).String(), "elapsed", ""})
	d.RateText = rateText(c, d.Rate)
	d.promise()
	samples := c.Curve
	if len(samples) > maxSamples {
		samples = thin(samples, maxSamples)
		d.Cut = append(d.Cut, fmt.Sprintf("The curves show %d of %d samples.", maxSamples, len(c.Curve)))
	}
	if len(samples) > 0 {
		d.Curves = []curve{newCurve("distinct states", samples, func(s Sample) int { return s.States }),
			newCurve("distinct schedules", samples, func(s Sample) int { return s.Schedules }),
			newCurve("findings", samples, func(s Sample) int { return s.Findings })}
	}
	d.Groups = c.Groups
	if len(d.Groups) > maxGroups {
		d.Groups = d.Groups[:maxGroups]
		d.Cut = append(d.Cut, fmt.Sprintf("The first %d of %d groups of findings are shown.", maxGroups, len(c.Groups)))
	}
	if len(d.Groups) > foldGroups {
		d.Groups, d.More = d.Groups[:foldGroups], d.Groups[foldGroups:]
	}
	d.Cut = append(d.Cut, fmt.Sprintf("Texts are cut after %d characters and then end in …", DefaultMaxText))
	for _, v := range []trace.Verdict{trace.Pass, trace.Fail, trace.Unknown, trace.Vacuous, trace.Flaky} {
		if n := c.Verdicts[string(v)]; n > 0 {
			d.Verdicts = append(d.Verdicts, Effect{string(v), n})
		}
	}
	for _, name := range sorted(c.Judged) {
		d.Judged = append(d.Judged, Effect{name, c.Judged[name]})
	}
	d.compare()
}

// promise puts the guarantee and what it rests on into words.
func (d *campaignData) promise() {
	g := d.C.Guarantee
	if g.Text == "" {
		return
	}
	d.Promise = append(d.Promise, "For one run: "+cut(clean(g.Text), DefaultMaxText)+".")
	if g.PerRun > 0 {
		d.Promise = append(d.Promise, fmt.Sprintf("After these %d runs the chance to have hit any given target of that kind is at least %s; %s runs are needed for 95%%.",
			d.C.Runs, percent(g.AllRuns), orMany(g.RunsFor95)))
	}
}

// comparison reports whether the campaign is nothing but a comparison of strategies, of
// which no failure rate and no verdicts of single runs can be told.
func (c *Campaign) comparison() bool { return c.Strategy == "" && len(c.Compared) > 0 }

func (d *campaignData) fillComparison() {
	c := d.C
	d.Heading, d.Class = "strategies compared", ""
	d.Subtitle = fmt.Sprintf("%s · from seed %d", named(c.Target, c.Options), c.Seed)
	d.Cards = []card{{short(float64(len(c.Compared))), "strategies", ""}, {short(float64(c.Runs)), "runs", ""},
		{short(float64(c.Findings)), "campaigns with a finding", ""}, {short(float64(c.Steps)), "steps", ""}}
	d.compare()
}

// rateText says what the number of findings means, and under which assumption.
func rateText(c *Campaign, r *Rate) string {
	text := fmt.Sprintf("With %.3g%% confidence a run under this strategy fails with a probability of at most %s", r.Confidence*100, percent(r.Upper))
	if r.Lower > 0 {
		text += fmt.Sprintf(", and with the same confidence of at least %s", percent(r.Lower))
	}
	return text + fmt.Sprintf(" (exact binomial limits for %d findings in %d runs, which assume that runs are independent draws). It says nothing about schedules that the strategy does not make.",
		c.Findings, c.Runs)
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

// thin keeps so many samples, evenly spread, the last among them.
func thin(s []Sample, keep int) []Sample {
	out := make([]Sample, 0, keep)
	for i := range keep {
		out = append(out, s[(i+1)*len(s)/keep-1])
	}
	return out
}

// compare scales the bars of compared strategies by logarithm: runs to a finding differ
// by orders of magnitude.
func (d *campaignData) compare() {
	const width = 260
	most := 1.0
	for _, c := range d.C.Compared {
		most = math.Max(most, math.Max(c.Upper, c.Median))
	}
	scale := func(v float64) int { return int(math.Log1p(math.Max(v, 0)) / math.Log1p(most) * width) }
	for _, c := range d.C.Compared {
		d.Compared = append(d.Compared, comparedRow{c, scale(c.Median), scale(c.Lower), scale(c.Upper)})
	}
}

// Rounded is a number of runs in words.
func (c comparedRow) Rounded(runs float64) string { return fmt.Sprintf("%.0f", runs) }
