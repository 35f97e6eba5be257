package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/campaign"
)

// Commands are the commands of a fleet, for the command line of package cli.
type Commands struct {
	Fleet struct {
		Serve    serveCmd    `cmd:"" help:"Serve a fleet: a queue of work, the results, and a page."`
		Join     joinCmd     `cmd:"" help:"Make runs for a fleet, until interrupted."`
		Run      runCmd      `cmd:"" passthrough:"" help:"Have a campaign, or the campaigns of a plan, made by a fleet: run with --fleet."`
		Plan     planCmd     `cmd:"" hidden:"" help:"Have the campaigns of a plan made by a fleet."`
		Status   statusCmd   `cmd:"" help:"Campaigns and workers of a fleet."`
		Stop     stopCmd     `cmd:"" help:"End a campaign."`
		Findings findingsCmd `cmd:"" help:"List what campaigns have found, or fetch it."`
	} `cmd:"" help:"Campaigns over many machines."`
}

// at is the address of a fleet, and the file with its token.
type at struct {
	URL       string `arg:"" env:"LOCKSTEP_FLEET" help:"Where the fleet is: what lockstep fleet serve prints, or the variable LOCKSTEP_FLEET."`
	TokenFile string `env:"LOCKSTEP_FLEET_TOKEN_FILE" placeholder:"FILE" help:"File with the fleet's token; otherwise the variable LOCKSTEP_FLEET_TOKEN has it."`
}

// dial connects with the work token.
func (a at) dial(ctx context.Context) (*Client, error) {
	token, err := readToken(a.TokenFile, TokenVariable)
	if err != nil {
		return nil, err
	}
	return Dial(ctx, a.URL, token)
}

// view connects with the work token or, at the address of the page, with the view token.
func (a at) view(ctx context.Context) (view, error) {
	if !strings.HasPrefix(a.URL, "http://") && !strings.HasPrefix(a.URL, "https://") {
		return a.dial(ctx)
	}
	token, err := readToken(a.TokenFile, TokenVariable)
	if err != nil {
		return nil, err
	}
	return dialPage(a.URL, token)
}

type serveCmd struct {
	Listen string `default:"127.0.0.1:4222" placeholder:"HOST:PORT" help:"Where workers connect (${default}: this machine only)."`
	Page   string `default:"127.0.0.1:4280" placeholder:"HOST:PORT" help:"Where the page is; empty: nowhere (${default})."`
	Dir    string `default:"lockstep-fleet" placeholder:"DIR" help:"Where the fleet's files are: a restarted server continues there (${default})."`
	NATS   string `placeholder:"URL" help:"Use the NATS server there, which must have JetStream, instead of one of our own."`

	TokenFile     string `env:"LOCKSTEP_FLEET_TOKEN_FILE" placeholder:"FILE" help:"File with the work token, which runs programs; otherwise the variable LOCKSTEP_FLEET_TOKEN has it, or one is made and kept in DIR."`
	ViewTokenFile string `env:"LOCKSTEP_FLEET_VIEW_TOKEN_FILE" placeholder:"FILE" help:"File with the view token, which only reads; otherwise the variable LOCKSTEP_FLEET_VIEW_TOKEN has it, or one is made and kept in DIR."`
}

// Run serves until it is interrupted.
func (c *serveCmd) Run(e *cli.Env) error {
	work, err := readToken(c.TokenFile, TokenVariable)
	look, failed := readToken(c.ViewTokenFile, ViewTokenVariable)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	log := func(line string) { fmt.Fprintln(e.Err, "lockstep:", line) }
	s, err := Serve(e.Ctx, Config{Dir: c.Dir, Listen: c.Listen, Token: work, ViewToken: look, NATS: c.NATS, Log: log})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintf(e.Out, "join with: %s fleet join %s%s\n", e.Self, s.URL, c.tokenFlag(s, work))
	if c.Page != "" {
		url, err := s.Page(e.Ctx, c.Page)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.Out, "look at: %s\n", url)
	}
	return s.Run(e.Ctx)
}

// tokenFlag returns the flag with which workers on this machine find the work token; given is the token file that the
// user gave to the server.
func (c *serveCmd) tokenFlag(s *Server, given string) string {
	switch {
	case c.TokenFile != "":
		return " --token-file " + c.TokenFile
	case given == "" && c.NATS == "":
		return " --token-file " + s.tokenFile()
	}
	return ""
}

type joinCmd struct {
	at
	Workers int           `placeholder:"W" help:"Runs at once; 0 is one for each processor."`
	Name    string        `placeholder:"NAME" help:"What this worker is called; host and process unless given."`
	Every   time.Duration `default:"1s" placeholder:"1s" help:"Time between reports."`
}

// Run works until it is interrupted.
func (j *joinCmd) Run(e *cli.Env) error {
	token, err := readToken(j.TokenFile, TokenVariable)
	if err != nil {
		return err
	}
	w := Worker{
		URL:     j.URL,
		Token:   token,
		Name:    j.Name,
		Workers: j.Workers,
		Every:   max(j.Every, time.Millisecond),
		Program: e.ProgramOf,
		Log:     func(line string) { fmt.Fprintln(e.Err, "lockstep:", line) },
	}
	return w.Join(e.Ctx)
}

type runCmd struct {
	Args []string `arg:"" help:"As for lockstep run, or the YAML file of a plan; --fleet URL, or the variable LOCKSTEP_FLEET, says where."`
}

// Run runs the command run with the fleet.
func (r *runCmd) Run(e *cli.Env) error {
	isPlan := func(word string) bool { return strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml") }
	if len(r.Args) > 0 && isPlan(r.Args[0]) {
		e.Execute(append([]string{"fleet", "plan"}, r.Args...)...)
		return nil
	}
	args := append([]string{"run"}, r.Args...)
	given := func(word string) bool { return word == "--fleet" || strings.HasPrefix(word, "--fleet=") }
	if url := os.Getenv("LOCKSTEP_FLEET"); url != "" && !slices.ContainsFunc(args, given) {
		args = append(args, "--fleet", url)
	} else if url == "" && !slices.ContainsFunc(args, given) {
		return errors.New("where is the fleet? Give --fleet URL, or set LOCKSTEP_FLEET to it")
	}
	e.Execute(args...)
	return nil
}

// Elsewhere lets a fleet run a campaign: the App.Fleet of package cli.
func Elsewhere(e *cli.Env, c cli.Elsewhere) (*cli.Gathered, error) {
	job, err := jobOf(e, c)
	if err != nil {
		return nil, err
	}
	client, err := at{URL: c.URL, TokenFile: c.TokenFile}.dial(e.Ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ids, err := client.Give(e.Ctx, job)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(e.Err, "lockstep: campaign %s of the fleet\n", ids[0])
	runs := job.Hello.Runs
	if c.For > 0 {
		runs = 0
	}
	show := e.Progress(runs, c.For)
	l, err := client.Wait(e.Ctx, ids[0], func(l *Ledger) {
		_ = show.Update(
			campaign.Status{
				Runs:     l.Result.Runs,
				Findings: campaign.Findings(l.Result),
				Coverage: fmt.Sprintf("%d states", l.Result.States),
			},
		)
	})
	_ = show.Done()
	if err != nil {
		return nil, err
	}
	traces, err := client.Traces(context.WithoutCancel(e.Ctx), l)
	return &cli.Gathered{
		Result:   l.Result,
		Coverage: l.Coverage,
		Closure:  l.Closure,
		Code:     l.Code,
		Traces:   traces,
		Elapsed:  l.Elapsed,
		Curve:    l.Curve,
		Stopped:  l.Job.Ended == Stopped,
		Failed:   l.Why,
	}, err
}

// jobOf lets the program of a campaign describe it, which also checks it. The flags affect only the check.
func jobOf(e *cli.Env, c cli.Elsewhere, flags ...string) (Job, error) {
	file, variables, err := e.ProgramOf(c.Target, c.Set)
	if err != nil {
		return Job{}, err
	}
	p, err := batch.Start(e.Ctx, file, slices.Concat(c.Args, flags), variables...)
	if err != nil {
		return Job{}, err
	}
	p.Close()
	return Job{Hello: p.Hello, Target: c.Target, Set: c.Set, Args: c.Args, For: c.For}, nil
}

type statusCmd struct {
	at
	JSON bool `name:"json" help:"Print one JSON object."`
}

// line is a campaign in a list.
type line struct {
	ID       string  `json:"id"`
	Plan     string  `json:"plan,omitempty"`
	Name     string  `json:"name,omitempty"`
	State    string  `json:"state"`
	Target   string  `json:"target"`
	Strategy string  `json:"strategy"`
	Seed     uint64  `json:"seed"`
	Runs     int     `json:"runs"`
	Of       int     `json:"of"`
	Findings int     `json:"findings"`
	States   int     `json:"states"`
	Verdict  string  `json:"verdict"`
	Digest   string  `json:"digest"`
	Elapsed  int64   `json:"elapsed_ms"`
	Speed    float64 `json:"runs_per_sec"`
	Why      string  `json:"why,omitempty"`
	// Problems are those of the campaign's result so far.
	Problems []lockstep.Problem `json:"problems,omitempty"`
	// Quarantined is the number of rejected parts, which do not count.
	Quarantined int `json:"quarantined"`
}

func lineOf(l *Ledger) line {
	x := line{
		ID:          l.Job.ID,
		Plan:        l.Job.Plan,
		Name:        l.Job.Name,
		State:       "running",
		Target:      l.Result.Target,
		Strategy:    l.Result.Strategy,
		Seed:        l.Result.Seed,
		Runs:        l.Result.Runs,
		Of:          l.Job.Hello.Runs,
		Findings:    campaign.Findings(l.Result),
		States:      l.Result.States,
		Verdict:     string(l.verdict()),
		Digest:      fmt.Sprintf("%016x", l.Result.Digest),
		Elapsed:     l.Elapsed.Milliseconds(),
		Why:         l.Why,
		Problems:    l.Result.Problems(),
		Quarantined: l.Quarantined,
	}
	if l.Job.Ended != "" {
		x.State = l.Job.Ended
	}
	if s := l.Elapsed.Seconds(); s > 0 {
		x.Speed = float64(x.Runs) / s
	}
	return x
}

// Run prints campaigns and workers.
func (c *statusCmd) Run(e *cli.Env) error {
	from, err := c.view(e.Ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	s, err := from.status(e.Ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.JSON(s)
	}
	return s.print(e.Out)
}

// print prints tables.
func (s *status) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "campaign\tstate\ttarget\tstrategy\tseed\truns\tfindings\tverdict\tdigest")
	for _, x := range s.Campaigns {
		words.Printf(w, "%s\t%s\t%s\t%s\t%d\t%d of %d\t%d\t%s\t%s\n", x.ID, x.State, x.Target, x.Strategy, x.Seed,
			x.Runs, x.Of, x.Findings, x.Verdict, x.Digest)
	}
	for _, x := range s.Campaigns {
		for _, line := range campaign.ProblemLines(x.Problems, ": --json lists all") {
			words.Printf(w, "%s: %s\n", x.ID, line)
		}
	}
	fmt.Fprintln(w, "\nworker\tcampaign\truns\truns/s\trefuses")
	for _, r := range s.Workers {
		words.Printf(w, "%s\t%s\t%d\t%.0f\t%s\n", r.Worker, r.Campaign, r.Runs, r.Speed, r.refusals())
	}
	if len(s.Quarantine) > 0 {
		fmt.Fprintln(w, "\nquarantined\tfrom run\tworker\twhy")
	}
	for _, q := range s.Quarantine {
		words.Printf(w, "%s\t%d\t%s\t%s\n", q.Campaign, q.First, q.Worker, q.Why)
	}
	return w.Flush()
}

// refusals returns the campaigns that a worker refuses, with the reasons, in one line.
func (r Report) refusals() string {
	var list []string
	for id, why := range r.Refused {
		list = append(list, id+": "+why)
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

type stopCmd struct {
	at
	Campaign string `arg:"" help:"The campaign, or the plan, as lockstep fleet status names it."`
}

// Run ends a campaign.
func (s *stopCmd) Run(e *cli.Env) error {
	client, err := s.dial(e.Ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	ids, err := client.Stop(e.Ctx, s.Campaign)
	if err == nil {
		words.Printf(e.Out, "stopped: %s\n", strings.Join(ids, ", "))
	}
	return err
}
