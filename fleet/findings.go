package fleet

import (
	"errors"
	"fmt"
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
func (c *findingsCmd) fetch(e *cli.Env, client *Client, l *Ledger) error {
	list, err := client.Traces(e.Ctx, l)
	if err != nil {
		return err
	}
	if err := keep.MakeFolder(c.Out); err != nil {
		return err
	}
	for i, packed := range list {
		t, err := packed.Read()
		if err != nil {
			return err
		}
		file := c.Out + "/" + keep.NameOfRun(t, l.Findings[i].Run) + ".trace"
		if err := keep.Trace(e.Write, file, t); err != nil {
			return err
		}
		fmt.Fprintln(e.Err, "lockstep: wrote", file)
	}
	return nil
}
