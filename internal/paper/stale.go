package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/compare"
)

// staleCmd measures Fig. 1 of the paper on random partitions on etcd's servers in virtual time.
type staleCmd struct {
	Runs int    `default:"1000" placeholder:"N" help:"Tests of each kind (${default})."`
	Seed uint64 `default:"1" placeholder:"X" help:"Seed of the campaigns (${default})."`
	Only string `placeholder:"ROW" enum:",left,right,control" default:"" help:"Only this row: left, right or control."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (staleCmd) Help() string {
	return `The tests of Examples 3.3 and 4.21 on whole etcd servers: five members are cut into two and three,
then two operations follow, each drawn from read, write 0 and write 1 at any member. On the left a member
answers a read from its own replica. On the right it redirects the read to the leader that it knows, which
answers from its own replica, as with "consistent" in etcd's first API. Leaders of that time stayed leaders
in a minority; the server has CheckQuorum against that, which the row right turns off and the row control
leaves on. Exit status 1: a prediction is outside the exact 95 % interval of its measurement.
The programs are built when they are first needed, which takes minutes.

Example:
  lockstep paper stale --runs 300`
}

// staleTest is the test of both examples as a strategy.
const staleTest = "partition:criterion=isolate,balanced=true,stages=1,before=0,during=2,after=0,steps=1500,vary=false"

// staleRows are the rows, with the paper's probabilities of one test. The control has none: with CheckQuorum the leader
// in the minority steps down before the majority has another one.
var staleRows = []staleRow{
	{Name: "left", Target: "etcdserver", Option: "serializable=true", Predicted: 2.0 / 75, Fraction: "2/75"},
	{Name: "right", Target: "etcdserver-unchecked", Option: "redirected=true", Predicted: 4.0 / 375, Fraction: "4/375"},
	{Name: "control", Target: "etcdserver", Option: "redirected=true", Predicted: -1, Fraction: "-"},
}

// staleRow is a campaign.
type staleRow struct {
	Name      string           `json:"name"`
	Target    string           `json:"target"`
	Option    string           `json:"option"`
	Predicted float64          `json:"p_predicted"` // -1: none
	Fraction  string           `json:"p_predicted_fraction"`
	Found     int              `json:"found"`
	Tests     int              `json:"tests"`
	Interval  compare.Interval `json:"p_interval"` // exact, confidence 0.95
	Agrees    bool             `json:"agrees"`
}

// Run makes the campaigns.
func (s *staleCmd) Run(e *cli.Env) error {
	if s.Runs < 1 {
		return fmt.Errorf("--runs is %d, it must be at least 1", s.Runs)
	}
	var made []staleRow
	for _, r := range staleRows {
		if s.Only != "" && s.Only != r.Name {
			continue
		}
		err := s.measure(e, &r)
		if e.Interrupted() {
			e.Partial("rows measured")
			break
		}
		if err != nil {
			return err
		}
		if made = append(made, r); !r.Agrees {
			e.Found()
		}
	}
	if s.JSON {
		return e.JSON(struct {
			Rows []staleRow `json:"rows"`
		}{made})
	}
	return writeStale(e.Out, made)
}

// measure has the program of the row's target make the tests.
func (s *staleCmd) measure(e *cli.Env, r *staleRow) error {
	file, variables, err := e.ProgramOf(r.Target, nil)
	if err != nil {
		return err
	}
	dir, remove, err := scratch()
	if err != nil {
		return err
	}
	defer remove()
	cmd := exec.CommandContext(e.Ctx, file, "run", r.Target, "--nodes", "5", "--set", r.Option, "--set", "mix=binary",
		"--set", "clients=3", "--set", "keys=1", "--settle", "0", "--keep-going", "--no-shrink", "--json", "--out", dir,
		"--runs", strconv.Itoa(s.Runs), "--seed", strconv.FormatUint(s.Seed, 10), "--strategy", staleTest)
	cmd.Env, cmd.Stderr = append(os.Environ(), variables...), e.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return err
	}
	var report struct {
		Runs     int `json:"runs"`
		Findings int `json:"findings"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return fmt.Errorf("%s: %w", r.Target, err)
	}
	r.Found, r.Tests = report.Findings, report.Runs
	r.Interval = compare.Share(r.Found, max(r.Tests, 1), 0.95)
	r.Agrees = r.Predicted < 0 || r.Interval.Low <= r.Predicted && r.Predicted <= r.Interval.High
	return nil
}

// writeStale writes the table.
func writeStale(out io.Writer, rows []staleRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Fig. 1\ttarget\toption\tpredicted p\tfound\tmeasured p (95 %)\tprediction")
	for _, r := range rows {
		beside := "agrees"
		switch {
		case r.Predicted < 0:
			beside = "-"
		case !r.Agrees:
			beside = "differs"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d of %d\t%.4f (%.4f to %.4f)\t%s\n", r.Name, r.Target, r.Option, r.Fraction,
			r.Found, r.Tests, float64(r.Found)/float64(max(r.Tests, 1)), r.Interval.Low, r.Interval.High, beside)
	}
	return w.Flush()
}
