package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target"
)

// testOnly are the modules that have only tests, and are not released. Neither are the programs of bug reports.
var testOnly = []string{
	"internal/integration",
	"internal/lint",
	"internal/unknown/dragonboattest",
	"internal/unknown/mqtttest",
	"internal/unknown/redsynctest",
	"internal/unknown/serftest",
}

// release makes a release of the repository in a directory.
type release struct {
	root    string
	version string // v0.1.0
	out     string // the directory of the archives
	dryRun  bool   // only check, and print what would be done
	// platforms are the platforms of the archives, as GOOS/GOARCH.
	platforms []string
}

// platforms are the platforms of a release.
var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}

// make checks the repository, then makes the archives and the tags.
func (r *release) make(ctx context.Context, out io.Writer) error {
	tags, err := r.check(ctx)
	if err != nil {
		return err
	}
	if r.dryRun {
		for _, p := range r.platforms {
			fmt.Fprintln(out, "archive", filepath.Join(r.out, r.archive(p)))
		}
		for _, tag := range tags {
			fmt.Fprintln(out, "tag", tag)
		}
		return nil
	}
	if err := r.archives(ctx, out); err != nil {
		return err
	}
	for _, tag := range tags {
		if _, err := r.git(ctx, "tag", "-a", tag, "-m", "Lockstep "+r.version); err != nil {
			return err
		}
		fmt.Fprintln(out, "tag", tag)
	}
	fmt.Fprintf(out, "publish with: git push origin %s\n", strings.Join(tags, " "))
	return nil
}

// check reports every obstacle to a release, and returns the tags of its modules.
func (r *release) check(ctx context.Context) (tags []string, err error) {
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(r.version) {
		return nil, fmt.Errorf("version %q: it must be like v0.1.0", r.version)
	}
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if status, err := r.git(ctx, "status", "--porcelain"); err != nil {
		return nil, err
	} else if status != "" {
		problem("the tree is not clean: %s", strings.ReplaceAll(status, "\n", ", "))
	}
	if "v"+lockstep.Version != r.version {
		problem("version.go: Version is %s, the release is %s", lockstep.Version, r.version)
	}
	if err := r.checkChangelog(); err != nil {
		problems = append(problems, err)
	}
	dirs, err := r.modules()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		problems = append(problems, r.checkModule(dir)...)
		tags = append(tags, strings.TrimPrefix(filepath.ToSlash(dir)+"/", "./")+r.version)
	}
	have, err := r.git(ctx, "tag", "--list")
	if err != nil {
		return nil, err
	}
	for _, tag := range strings.Fields(have) {
		if slices.Contains(tags, tag) {
			problem("the tag %s exists", tag)
		}
	}
	return tags, errors.Join(problems...)
}

// modules returns the directories of the modules to release, below the root.
func (r *release) modules() (dirs []string, err error) {
	all, err := modules(r.root)
	for _, dir := range all {
		name, wrong := filepath.Rel(r.root, dir)
		name = filepath.ToSlash(name)
		if err = errors.Join(err, wrong); !slices.Contains(testOnly, name) && !strings.HasPrefix(name, "reports/") {
			dirs = append(dirs, name)
		}
	}
	return dirs, err
}

// checkChangelog reports that the change log has no entry for the release.
func (r *release) checkChangelog() error {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	_, section, ok := strings.Cut("\n"+string(text), "\n## "+r.version)
	heading, body, _ := strings.Cut(section, "\n")
	body, _, _ = strings.Cut(body, "\n## ")
	if !ok || heading != "" && !strings.HasPrefix(heading, " ") || strings.TrimSpace(body) == "" {
		return fmt.Errorf("CHANGELOG.md has no section %q, or an empty one", "## "+r.version)
	}
	return nil
}

// required matches a line of a go.mod that requires one of our modules.
var required = regexp.MustCompile(`(?m)^(?:require |\t)(` + regexp.QuoteMeta(target.Root) + `\S*) (v\S+)`)

// checkModule reports entries of a module's go.mod files that its users cannot use.
func (r *release) checkModule(dir string) (problems []error) {
	files, err := filepath.Glob(filepath.Join(r.root, dir, "versions", "*.mod"))
	if err != nil {
		return []error{err}
	}
	for _, file := range append(files, filepath.Join(r.root, dir, "go.mod")) {
		text, err := os.ReadFile(file)
		if err != nil {
			return append(problems, err)
		}
		name, _ := filepath.Rel(r.root, file)
		for _, m := range required.FindAllStringSubmatch(string(text), -1) {
			if m[2] != r.version {
				problems = append(problems,
					fmt.Errorf("%s requires %s %s, the release is %s", name, m[1], m[2], r.version))
			}
		}
		if filepath.Base(file) == "go.mod" && strings.Contains("\n"+string(text), "\nreplace ") {
			problems = append(problems,
				fmt.Errorf("%s has a replacement, which is ignored where others use the module", name))
		}
	}
	return problems
}

// git runs git in the repository and returns what it prints.
func (r *release) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
