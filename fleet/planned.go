package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/campaign"
)

type planCmd struct {
	File      string `arg:"" help:"The plan."`
	Fleet     string `env:"LOCKSTEP_FLEET" required:"" placeholder:"URL" help:"Where the fleet is."`
	TokenFile string `env:"LOCKSTEP_FLEET_TOKEN_FILE" placeholder:"FILE" help:"File with the fleet's work token; otherwise the variable LOCKSTEP_FLEET_TOKEN has it."`
	Out       string `default:"lockstep-out" placeholder:"DIR" help:"Where the trace of the first finding of each group goes (${default})."`
	JUnit     string `name:"junit" placeholder:"FILE" help:"Write the campaigns as JUnit XML."`
	Annotate  bool   `help:"Print GitHub annotations."`
	JSON      bool   `name:"json" help:"Print one JSON object."`

	Baseline string   `placeholder:"FILE" help:"The file with what was found the last times, instead of the plan's."`
	Program  []string `placeholder:"PACKAGE" sep:"none" help:"Let the plan name this main package, which is built and run; may be repeated."`
	Set      []string `placeholder:"K=V" sep:"none" help:"Let the plan name this version that is not listed, or this program or file; may be repeated."`
}

// allow returns what the user permits the plan to name.
func (c *planCmd) allow() cli.Allow { return cli.Allow{Programs: c.Program, Set: c.Set} }

// baseline returns the file with the findings of earlier executions. A plan names a file below the working directory.
func (c *planCmd) baseline(p *Plan) (string, error) {
	if c.Baseline != "" || p.Baseline == "" {
		return c.Baseline, nil
	}
	if !filepath.IsLocal(p.Baseline) || filepath.Ext(p.Baseline) != ".json" {
		return "", fmt.Errorf(
			"%s: baseline is %s, allowed is a .json file below the working directory: give --baseline to write another",
			c.File, p.Baseline)
	}
	return p.Baseline, nil
}

// outcome is the result of a plan.
type outcome struct {
	Plan        string       `json:"plan"`
	Regressions []regression `json:"regressions,omitempty"`
	Campaigns   []line       `json:"campaigns"`
	Groups      []group      `json:"groups"`
	Interrupted bool         `json:"interrupted"`
}

// regression is a trace that was replayed.
type regression struct {
	File  string `json:"file"`
	Fails bool   `json:"fails"`
	Says  string `json:"says"`
}

// group has the findings of a target that are alike, over all campaigns of a plan.
type group struct {
	Target string `json:"target"`
	campaign.Group
	Campaign string `json:"campaign"` // of the first finding
	New      bool   `json:"new"`      // not in the baseline
}

// key identifies the group.
func (g group) key() string { return g.Target + "\x00" + g.Property + "\x00" + g.Shape }

// Run lets the fleet run the campaigns of a plan.
func (c *planCmd) Run(e *cli.Env) error {
	p, err := ReadPlan(c.File)
	if err != nil {
		return err
	}
	traces, err := p.regressions()
	if err := errors.Join(err, cli.CheckOut(c.Out), cli.CheckFiles("junit", c.JUnit)); err != nil {
		return err
	}
	baseline, err := c.baseline(p)
	if err != nil {
		return err
	}
	known, err := readBaseline(baseline)
	if err != nil {
		return err
	}
	jobs, err := c.jobs(e, p)
	if err != nil {
		return err
	}
	client, err := at{URL: c.Fleet, TokenFile: c.TokenFile}.dial(e.Ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	out := &outcome{Plan: p.Name, Campaigns: []line{}, Groups: []group{}}
	for _, file := range traces {
		out.Regressions = append(out.Regressions, c.replayed(e, file))
	}
	ledgers, err := c.wait(e, client, jobs)
	if err != nil {
		return err
	}
	out.sum(ledgers, known)
	out.Interrupted = e.Interrupted()
	if len(out.Groups) > 0 || slices.ContainsFunc(out.Regressions, func(r regression) bool { return r.Fails }) {
		e.Found()
	}
	for _, l := range ledgers {
		e.Report(l.Result.Problems())
	}
	return errors.Join(c.fetch(e, client, out, ledgers), c.write(e, out, ledgers),
		writeBaseline(e, baseline, known, out.Groups))
}

// jobs lets the programs describe the campaigns, which checks them.
func (c *planCmd) jobs(e *cli.Env, p *Plan) (jobs []Job, err error) {
	list, names := p.elsewhere()
	for i, x := range list {
		job, wrong := Job{}, e.CheckNamed(x.Target, x.Set, c.allow())
		if wrong == nil {
			job, wrong = jobOf(e, x, c.checks()...)
		}
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %s: %w", c.File, strings.Join(x.Args[:len(x.Args)-1], " "), wrong))
		}
		job.Plan, job.Name = p.Name, names[i]
		jobs = append(jobs, job)
	}
	return jobs, err
}

// checks returns the flags with which a program refuses options that the plan must not set.
func (c *planCmd) checks() []string {
	flags := []string{"--from-file"}
	for _, pair := range c.Set {
		flags = append(flags, "--allow", pair)
	}
	return flags
}

// wait gives the campaigns to the fleet and waits until all have ended.
func (c *planCmd) wait(e *cli.Env, client *Client, jobs []Job) (list []*Ledger, err error) {
	ids, err := client.Give(e.Ctx, jobs...)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(e.Err, "lockstep: campaigns %s to %s of the fleet\n", ids[0], ids[len(ids)-1])
	show, runs, findings := e.Progress(0, 0), 0, 0
	defer show.Done() //nolint:errcheck // it is only shown
	for _, id := range ids {
		l, err := client.Wait(e.Ctx, id, func(l *Ledger) {
			_ = show.Update(
				campaign.Status{
					Runs:     runs + l.Result.Runs,
					Findings: findings + campaign.Findings(l.Result),
					Coverage: "campaign " + id,
				},
			)
		})
		if err != nil {
			return nil, err
		}
		runs, findings = runs+l.Result.Runs, findings+campaign.Findings(l.Result)
		list = append(list, l)
	}
	return list, nil
}

// replayed replays a trace in a separate process.
func (c *planCmd) replayed(e *cli.Env, file string) regression {
	self, err := os.Executable()
	if err != nil {
		return regression{File: file, Says: err.Error()}
	}
	args := []string{"replay"}
	for _, pair := range c.Set {
		args = append(args, "--allow", pair)
	}
	text, err := exec.CommandContext(e.Ctx, self, append(args, "--", file)...).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	r := regression{File: file, Fails: err != nil, Says: lines[len(lines)-1]}
	words.Printf(e.Err, "lockstep: %s: %s\n", file, r.Says)
	return r
}

// sum groups the findings of all campaigns. New groups come first.
func (o *outcome) sum(ledgers []*Ledger, known map[string]bool) {
	for _, l := range ledgers {
		o.Campaigns = append(o.Campaigns, lineOf(l))
		for _, f := range l.Findings {
			g := group{
				Target:   l.Result.Target,
				Campaign: l.Job.ID,
				Group:    campaign.Group{Property: f.Property, Shape: f.Shape, First: f.Run, Text: f.Text},
			}
			g.New = !known[g.key()]
			i := slices.IndexFunc(o.Groups, func(x group) bool { return x.key() == g.key() })
			if i < 0 {
				i = len(o.Groups)
				o.Groups = append(o.Groups, g)
			}
			o.Groups[i].Findings++
		}
	}
	slices.SortStableFunc(o.Groups, func(a, b group) int {
		switch {
		case a.New != b.New && a.New:
			return -1
		case a.New != b.New:
			return 1
		default:
			return b.Findings - a.Findings
		}
	})
}

// fetch writes the trace of the first finding of each group.
func (c *planCmd) fetch(e *cli.Env, client *Client, o *outcome, ledgers []*Ledger) (failed error) {
	for i := range o.Groups {
		g := &o.Groups[i]
		l := ledgers[slices.IndexFunc(ledgers, func(l *Ledger) bool { return l.Job.ID == g.Campaign })]
		file, err := fetchTrace(context.WithoutCancel(e.Ctx), e, client, c.Out, l.Job.ID, g.First)
		g.Trace, failed = file, errors.Join(failed, err)
	}
	return failed
}

// write prints the result.
func (c *planCmd) write(e *cli.Env, o *outcome, ledgers []*Ledger) (failed error) {
	var list []*campaign.Campaign
	for _, l := range ledgers {
		list = append(list, l.campaign())
	}
	if c.JUnit != "" {
		failed = e.Write(c.JUnit, func(w io.Writer) error { return campaign.JUnit(w, list...) })
	}
	if c.Annotate {
		for _, x := range list {
			w := e.Out
			if c.JSON {
				w = e.Err
			}
			failed = errors.Join(failed, campaign.Annotations(w, x, campaign.Place{}))
		}
	}
	if c.JSON {
		return errors.Join(failed, e.JSON(o))
	}
	w := tabwriter.NewWriter(e.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "campaign\tended\ttarget\tstrategy\tseed\truns\tfindings\tfailure rate at most\tdigest")
	for i, x := range o.Campaigns {
		rate := list[i].FailureRate()
		words.Printf(w, "%s\t%s\t%s\t%s\t%d\t%d of %d\t%d\t%.2g (%g %%)\t%s\n", x.ID, x.State, x.Target, x.Strategy,
			x.Seed, x.Runs, x.Of, x.Findings, rate.Upper, 100*rate.Confidence, x.Digest)
	}
	failed = errors.Join(failed, w.Flush())
	for _, g := range o.Groups {
		mark := "known"
		if g.New {
			mark = "new"
		}
		words.Printf(e.Out, "%s: %s: %s: %s (%s, first in run %d of campaign %s: %s)\n", mark, g.Target, g.Property,
			g.Text, words.Count(g.Findings, "finding"), g.First, g.Campaign, g.Trace)
	}
	for _, r := range o.Regressions {
		if r.Fails {
			words.Printf(e.Out, "regression: %s: %s\n", r.File, r.Says)
		}
	}
	e.Partial("campaigns")
	return failed
}

// readBaseline reads the findings of earlier executions.
func readBaseline(file string) (map[string]bool, error) {
	known := map[string]bool{}
	if file == "" {
		return known, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	var list []group
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s is no baseline: %w", file, err)
	}
	for _, g := range list {
		known[g.key()] = true
	}
	return known, nil
}

// writeBaseline adds the new findings to the baseline.
func writeBaseline(e *cli.Env, file string, known map[string]bool, groups []group) error {
	fresh := slices.DeleteFunc(slices.Clone(groups), func(g group) bool { return known[g.key()] })
	if file == "" || len(fresh) == 0 {
		return nil
	}
	var list []group
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &list); err != nil {
			return err
		}
	}
	return e.Write(file, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(append(list, fresh...))
	})
}
