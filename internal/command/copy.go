package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/internal/copies"
)

type copyCmd struct {
	Copies []string `arg:"" name:"name=package" help:"Name of the copy and import path of the package, with @VERSION for another version than the module's, or @./DIR for the module in a directory."`
	Dir    string   `default:"copies" placeholder:"DIR" help:"Directory of the copies, in the module that imports them (${default})."`
	Tags   string   `placeholder:"TAGS" help:"Build tags, separated by commas."`
}

// Help returns the longer help.
func (copyCmd) Help() string {
	return "Several versions of a Go server run in one test: each copy has import paths, types and package\n" +
		"variables of its own. Only types of the standard library may cross between copies.\n\n" +
		"Examples:\n  lockstep copy v1=example.com/server@v1.4.0 v2=example.com/server@v1.5.0\n" +
		"  lockstep copy old=example.com/server@v1.4.0 new=example.com/server@.\n" +
		"  lockstep copy a=example.com/server b=example.com/server --dir internal/copies"
}

// Run runs the command.
func (c *copyCmd) Run(e *cli.Env) error {
	path, err := copies.ImportPath(e.Ctx, c.Dir)
	if err != nil {
		return err
	}
	for _, text := range c.Copies {
		name, pkg, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=PACKAGE, NAME=PACKAGE@VERSION or NAME=PACKAGE@./DIR", text)
		}
		pkg, version, _ := strings.Cut(pkg, "@")
		if pkg == "" || strings.HasPrefix(pkg, "-") || strings.HasPrefix(version, "-") {
			return fmt.Errorf("%q is not NAME=PACKAGE, NAME=PACKAGE@VERSION or NAME=PACKAGE@./DIR", text)
		}
		from := "."
		if strings.HasPrefix(version, ".") || filepath.IsAbs(version) {
			from, version = version, ""
		}
		began := time.Now()
		fmt.Fprintf(e.Err, "copying %s\n", text)
		report, err := copies.Copy{Package: pkg, Version: version, From: from, Name: name, Dir: c.Dir, Path: path,
			Tags: c.Tags}.Write(e.Ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.Out, "%s: %d packages, %.1f MB in %s, import %q\n", name, report.Packages,
			float64(report.Bytes)/1e6, time.Since(began).Round(100*time.Millisecond), report.Import)
		if len(report.Shared) > 0 {
			fmt.Fprintf(e.Out, "%s: shared by all copies: %s\n", name, strings.Join(report.Shared, ", "))
		}
	}
	fmt.Fprintf(e.Out, "the copies are in %s; add the directory to .gitignore\n", filepath.Clean(c.Dir))
	return nil
}
