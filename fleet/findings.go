package fleet

import (
	"context"
	"errors"
	"path/filepath"
	"text/tabwriter"

	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/internal/words"
)

type findingsCmd struct {
	at
	Campaign string `arg:"" optional:"" help:"Of one campaign, or plan; otherwise of all."`
	Out      string `placeholder:"DIR" help:"Write their traces there."`
	JSON     bool   `name:"json" help:"Print one JSON object."`
}

// Run lists findings and fetches their traces.
func (c *findingsCmd) Run(e *cli.Env) error {
	from, err := c.view(e.Ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	found, err := from.findings(e.Ctx, c.Campaign)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		e.Found()
	}
	if c.Out != "" {
		err = c.fetch(e, from, found)
	}
	if c.JSON {
		return errors.Join(err, e.JSON(foundList{found}))
	}
	w := tabwriter.NewWriter(e.Out, 0, 8, 2, ' ', 0)
	for _, f := range found {
		words.Printf(w, "%s\trun %d\t%s\t%s\n", f.Campaign, f.Run, f.Property, f.Text)
	}
	return errors.Join(err, w.Flush())
}

// fetch writes the traces of findings to files.
func (c *findingsCmd) fetch(e *cli.Env, from view, found []Finding) (failed error) {
	for _, f := range found {
		file, err := fetchTrace(e.Ctx, e, from, c.Out, f.Campaign, f.Run)
		if failed = errors.Join(failed, err); err == nil {
			words.Printf(e.Err, "lockstep: wrote %s\n", file)
		}
	}
	return failed
}

// fetchTrace writes a trace to a file in a directory.
func fetchTrace(ctx context.Context, e *cli.Env, from view, dir, id string, run int) (string, error) {
	packed, err := from.trace(ctx, id, run)
	if err != nil {
		return "", err
	}
	t, err := packed.Read()
	if err != nil {
		return "", err
	}
	if err := artifact.MakeDir(dir); err != nil {
		return "", err
	}
	file := filepath.Join(dir, artifact.NameIn(dir, t, run)+".trace")
	return file, artifact.Trace(e.Write, file, t)
}
