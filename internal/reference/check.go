package reference

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// Checker checks command lines of the documentation against a command line, without running them.
type Checker struct {
	// App is the command line.
	App cli.App
	// Docs is the directory of the documentation, below which the pages of targets list options and scenarios of
	// targets that the App does not link. Empty: only commands and flags are checked.
	Docs string
}

// CheckPages checks the command lines of all pages of the project, given its directory, that begin with a command.
// Empty: those of all commands. It returns their number.
func (c *Checker) CheckPages(root, command string) (int, error) {
	pages, err := Pages(root)
	if err != nil {
		return 0, err
	}
	number, problems := 0, []error(nil)
	for _, page := range pages {
		lines, err := Lines(page)
		if err != nil {
			return 0, err
		}
		for _, l := range lines {
			if command == "" || len(l.Args) > 0 && l.Args[0] == command {
				number++
				problems = append(problems, c.Check(l))
			}
		}
	}
	return number, errors.Join(problems...)
}

// Pages returns the pages of the project, given its directory.
func Pages(root string) ([]string, error) {
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Ext(file) == ".md" {
			pages = append(pages, file)
		}
		return err
	})
	return pages, err
}

// Check reports what is wrong with a command line of a page: an unknown command, flag, target, option or scenario, a
// value that the flag does not take, or a strategy that does not exist.
func (c *Checker) Check(l Line) error {
	if err := c.check(l); err != nil {
		return fmt.Errorf("%s:%d: lockstep %s: %w", l.Page, l.Number, strings.Join(l.Args, " "), err)
	}
	return nil
}

func (c *Checker) check(l Line) error {
	model, err := c.App.Model() // a new one, because flags remember that they were set
	if err != nil {
		return err
	}
	args := slices.DeleteFunc(slices.Clone(l.Args), func(a string) bool { return a == "..." })
	if l.Mention {
		args = concrete(args)
	}
	if len(args) == 1 && (args[0] == "--version" || args[0] == "--help") {
		return nil
	}
	trace, err := kong.Trace(&kong.Kong{Model: model}, args)
	if err == nil {
		err = trace.Error
	}
	switch {
	case l.Mention && err != nil && strings.Contains(err.Error(), " expected "):
		return nil // the value of a flag is missing
	case !l.Mention && err == nil:
		err = validate(trace)
	}
	if err != nil || c.Docs == "" {
		return err
	}
	return c.values(valuesOf(trace))
}

var placeholder = regexp.MustCompile(`^(\[.*\]|[A-Z][A-Z_-]+|\.\.\.|…)$`)

// concrete returns arguments without those that stand for others: N is a number, and TRACE any file.
func concrete(args []string) []string {
	var all []string
	for _, a := range args {
		switch {
		case len(a) == 1 && a >= "A" && a <= "Z":
			all = append(all, "1")
		case !placeholder.MatchString(a):
			all = append(all, a)
		}
	}
	return all
}

// validate reports missing arguments and flags, and values that are not allowed.
func validate(trace *kong.Context) error {
	if err := trace.Reset(); err != nil {
		return err
	}
	if _, err := trace.Apply(); err != nil {
		return err
	}
	return trace.Validate()
}

// values are the arguments and flags of a command line, by name.
type values map[string][]string

func valuesOf(trace *kong.Context) values {
	v := values{}
	for _, p := range trace.Path {
		name, value := "", any(nil)
		switch {
		case p.Flag != nil:
			name, value = p.Flag.Name, trace.FlagValue(p.Flag)
		case p.Positional != nil:
			name, value = p.Positional.Name, trace.Value(p).Interface()
		}
		switch value := value.(type) {
		case string:
			v[name] = []string{value}
		case []string:
			v[name] = value
		}
	}
	return v
}

// values checks strategies, and the target with its options and scenarios.
func (c *Checker) values(v values) error {
	var problems []error
	for _, s := range v["strategy"] {
		if !strings.HasPrefix(s, "NAME:") {
			_, err := strategy.Parse(s)
			problems = append(problems, err)
		}
	}
	if lists := v["strategies"]; len(lists) > 0 {
		_, err := cli.ParseStrategies(lists)
		problems = append(problems, err)
	}
	for _, name := range v["target"] {
		problems = append(problems, c.target(name, v["set"], v["scenario"]))
	}
	return errors.Join(problems...)
}

// target checks options and scenarios of a target. Those of a package are not known here.
func (c *Checker) target(name string, set, scenarios []string) error {
	if strings.HasPrefix(name, ".") || strings.Contains(name, "/") {
		return nil
	}
	i := slices.IndexFunc(c.App.Programs, func(p target.Program) bool { return p.Name == name })
	t, unknown := target.Find(c.App.Targets, name)
	set = slices.DeleteFunc(slices.Clone(set), func(pair string) bool {
		return i >= 0 && strings.HasPrefix(pair, target.VersionKey+"=")
	})
	switch {
	case unknown == nil:
		_, err := t.Build(set)
		for _, s := range scenarios {
			_, unknown := t.Scenario(s)
			err = errors.Join(err, unknown)
		}
		return err
	case i < 0:
		return unknown
	}
	return c.program(c.App.Programs[i], set, scenarios)
}

// program checks options and scenarios of a target in another program by the page of the target, whose tables are
// generated.
func (c *Checker) program(p target.Program, set, scenarios []string) error {
	page := filepath.Join(c.Docs, "reference", "targets", path.Base(path.Dir(p.Package))+".md")
	text, err := os.ReadFile(page)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	options := string(text)
	if strings.Contains(options, sharedOptions) {
		shared, err := os.ReadFile(filepath.Join(c.Docs, "reference", "targets.md"))
		if err != nil {
			return err
		}
		options += string(shared)
	}
	var problems []error
	for _, pair := range set {
		key, _, _ := strings.Cut(pair, "=")
		if !placeholder.MatchString(pair) && !strings.Contains(options, "\n| "+code(key)+" | ") {
			problems = append(problems, fmt.Errorf("%s has no option %q", filepath.Base(page), key))
		}
	}
	for _, s := range scenarios {
		if !strings.Contains(string(text), "\n| "+code(s)+" | ") {
			problems = append(problems, fmt.Errorf("%s has no scenario %q", filepath.Base(page), s))
		}
	}
	return errors.Join(append(problems, err)...)
}
