package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/keep"
)

type findingsCmd struct {
	at
	Campaign string `arg:"" optional:"" help:"Of one campaign, or plan; otherwise of all."`
	Out      string `placeholder:"DIR" help:"Write their traces there."`
	JSON     bool   `name:"json" help:"Print one JSON object."`
}

// Run lists findings, and fetches their traces.
func (c *findingsCmd) Run(e *cli.Env) error {
	client, err := Dial(e.Ctx, c.URL)
	if err != nil {
		return err
	}
	defer client.Close()
	ledgers, err := client.Ledgers(e.Ctx)
	if err != nil {
		return err
	}
	known, found := c.Campaign == "", []Finding{}
	for _, l := range ledgers {
		if c.Campaign != "" && l.Job.ID != c.Campaign && l.Job.Plan != c.Campaign {
			continue
		}
		known = true
		found = append(found, l.Findings...)
		if c.Out != "" {
			err = errors.Join(err, c.fetch(e, client, l))
		}
	}
	if !known {
		return fmt.Errorf("the fleet has no campaign %q", c.Campaign)
	}
	if len(found) > 0 {
		e.Found()
	}
	if c.JSON {
		return errors.Join(err, e.JSON(struct {
			Findings []Finding `json:"findings"`
		}{found}))
	}
	w := tabwriter.NewWriter(e.Out, 0, 8, 2, ' ', 0)
	for _, f := range found {
		fmt.Fprintf(w, "%s\trun %d\t%s\t%s\n", f.Campaign, f.Run, f.Property, f.Text)
	}
	return errors.Join(err, w.Flush())
}

// fetch writes the traces of a campaign to files.
func (c *findingsCmd) fetch(e *cli.Env, client *Client, l *Ledger) (failed error) {
	for _, f := range l.Findings {
		file, err := fetchTrace(e.Ctx, e, client, c.Out, l.Job.ID, f.Run)
		if failed = errors.Join(failed, err); err == nil {
			fmt.Fprintln(e.Err, "lockstep: wrote", file)
		}
	}
	return failed
}

// fetchTrace writes a trace to a file in a folder.
func fetchTrace(ctx context.Context, e *cli.Env, client *Client, dir, id string, run int) (string, error) {
	packed, err := client.store.getTrace(ctx, id, run)
	if err != nil {
		return "", err
	}
	t, err := packed.Read()
	if err != nil {
		return "", err
	}
	if err := keep.MakeFolder(dir); err != nil {
		return "", err
	}
	file := filepath.Join(dir, keep.NameIn(dir, t, run)+".trace")
	return file, keep.Trace(e.Write, file, t)
}
