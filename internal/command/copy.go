package command

import (
	"fmt"
	"path/filepath"
	"slices"
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

// Run runs the command. It reads all arguments before it copies anything.
func (c *copyCmd) Run(e *cli.Env) error {
	path, err := copies.ImportPath(e.Ctx, c.Dir)
	if err != nil {
		return err
	}
	var list []copies.Copy
	for _, text := range c.Copies {
		one, err := c.parse(text)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(other copies.Copy) bool { return other.Name == one.Name }) {
			return fmt.Errorf("two copies have the name %s: every copy needs a name of its own", one.Name)
		}
		one.Dir, one.Path, one.Tags = c.Dir, path, c.Tags
		list = append(list, one)
	}
	for i, one := range list {
		fmt.Fprintf(e.Err, "copying %s\n", c.Copies[i])
		if err := write(e, one); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.Out, "the copies are in %s; add the directory to .gitignore\n", filepath.Clean(c.Dir))
	return nil
}

// parse reads NAME=PACKAGE, with @VERSION or @DIR.
func (c *copyCmd) parse(text string) (copies.Copy, error) {
	name, pkg, ok := strings.Cut(text, "=")
	pkg, version, _ := strings.Cut(pkg, "@")
	if !ok || pkg == "" || strings.HasPrefix(pkg, "-") || strings.HasPrefix(version, "-") {
		return copies.Copy{}, fmt.Errorf("%q is not NAME=PACKAGE, NAME=PACKAGE@VERSION or NAME=PACKAGE@./DIR", text)
	}
	from := "."
	if strings.HasPrefix(version, ".") || filepath.IsAbs(version) {
		from, version = version, ""
	}
	return copies.Copy{Name: name, Package: pkg, Version: version, From: from}, nil
}

// many is the number of packages from which on a first build takes longer than a user expects.
const many = 100

// write makes one copy and reports it.
func write(e *cli.Env, one copies.Copy) error {
	began := time.Now()
	report, err := one.Write(e.Ctx)
	if err != nil {
		return err
	}
	state := ""
	if report.Unchanged {
		state = "unchanged, "
	}
	fmt.Fprintf(e.Out, "%s: %s%d packages, %.1f MB in %s, import %q\n", one.Name, state, report.Packages,
		float64(report.Bytes)/1e6, time.Since(began).Round(100*time.Millisecond), report.Import)
	if len(report.Shared) > 0 {
		fmt.Fprintf(e.Out, "%s: shared by all copies: %s\n", one.Name, strings.Join(report.Shared, ", "))
	}
	if report.Packages >= many && !report.Unchanged {
		fmt.Fprintf(e.Err, "%s: the first build compiles all %d packages and takes minutes\n", one.Name, report.Packages)
	}
	return nil
}
