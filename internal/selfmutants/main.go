// Command selfmutants measures the project's own tests. It plants known bugs in the engine, the strategies, the
// shrinker and the replay, and reports which of them the tests of these packages find.
//
//	go run ./internal/selfmutants              all of them
//	go run ./internal/selfmutants fifo-overtakes
//
// It is started in the root of the module. All faults are in one build of each package's tests, each behind a switch
// that an environment variable activates: see kit/mutants. The tests run in the form that "make test" runs. Status 1
// means that a fault survived, or that the tests fail without one.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/kit/mutants"
)

// packages are the packages whose tests run, in the order in which they do.
var packages = []string{".", "strategy", "shrink", "replay", "trace"}

func main() {
	timeout := flag.Duration("timeout", 3*time.Minute, "time for the tests of a package; a fault with which they "+
		"take longer is found")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	survived, err := measure(ctx, os.Stdout, ".", *timeout, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "selfmutants:", err)
		os.Exit(2)
	}
	if len(survived) > 0 {
		fmt.Fprintln(os.Stderr, "selfmutants: survived:", strings.Join(survived, ", "))
		os.Exit(1)
	}
}

// measure builds the tests of all packages, runs them once for each fault of the given names, and writes a table. It
// returns the names of the faults that no test found.
func measure(ctx context.Context, w io.Writer, root string, timeout time.Duration, names []string) ([]string, error) {
	chosen, err := choose(names)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "lockstep-selfmutants-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	began := time.Now()
	t, err := build(ctx, root, work)
	if err != nil {
		return nil, err
	}
	t.timeout = timeout
	spent := t.spent
	for _, pkg := range packages {
		if killed, output := t.run(ctx, pkg, control); killed != "" {
			return nil, fmt.Errorf("the tests of %s fail without a fault (%s):\n%s", pkg, killed, output)
		}
	}
	fmt.Fprint(w, "| fault | package | what goes wrong | found by |\n|---|---|---|---|\n")
	var survived []string
	for _, m := range chosen {
		found := "nothing"
		for _, pkg := range order(m) {
			if killed, _ := t.run(ctx, pkg, m.Name); killed != "" {
				found = fmt.Sprintf("`%s` in `%s`", killed, display(pkg))
				break
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if found == "nothing" {
			survived = append(survived, m.Name)
		}
		fmt.Fprintf(w, "| %s | `%s` | %s | %s |\n", m.Name, display(path.Dir(m.File)), m.Does, found)
	}
	fmt.Fprintf(w, "\n%d of %d faults are found, in %s: %s of CPU time for the builds and %s for the tests.\n",
		len(chosen)-len(survived), len(chosen), round(time.Since(began)), round(spent), round(t.spent-spent))
	return survived, nil
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }

func display(pkg string) string {
	if pkg == "." {
		return "lockstep"
	}
	return pkg
}

// choose returns the faults of the given names, or all.
func choose(names []string) (chosen []mutants.Mutant, err error) {
	for _, name := range names {
		if i := slices.IndexFunc(list, func(m mutants.Mutant) bool { return m.Name == name }); i > 0 {
			chosen = append(chosen, list[i])
		} else {
			return nil, fmt.Errorf("there is no fault %q", name)
		}
	}
	if len(names) == 0 {
		chosen = list[1:]
	}
	return chosen, nil
}

// order returns the packages in the order in which they look for a fault: its own package first.
func order(m mutants.Mutant) []string {
	own := path.Dir(m.File)
	return slices.Concat([]string{own}, slices.DeleteFunc(slices.Clone(packages), func(p string) bool { return p == own }))
}

// tests is the built tests.
type tests struct {
	root, work string
	timeout    time.Duration
	spent      time.Duration   // CPU time
	rapid      map[string]bool // packages whose tests use package rapid
}

// build builds the tests of all packages with all faults.
func build(ctx context.Context, root, work string) (*tests, error) {
	files, err := mutants.Instrument(os.DirFS(root), list)
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for i, f := range files {
		name := filepath.Join(work, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(name, f.Text, 0o666); err != nil {
			return nil, err
		}
		at, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(f.Name)))
		if err != nil {
			return nil, err
		}
		replace[at] = name
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(work, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o666); err != nil {
		return nil, err
	}
	t := &tests{root: root, work: work, rapid: map[string]bool{}}
	for _, pkg := range packages {
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", file, "-o", t.binary(pkg), "./"+pkg)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("the tests of %s with the faults do not build: %w\n%s", pkg, err, out)
		}
		t.spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		flags, _ := exec.CommandContext(ctx, t.binary(pkg), "-help").CombinedOutput()
		t.rapid[pkg] = bytes.Contains(flags, []byte("-rapid.nofailfile"))
	}
	return t, nil
}

func (t *tests) binary(pkg string) string {
	return filepath.Join(t.work, path.Base("root/"+pkg)+".test")
}

// failed is the line with the name of a test that failed, or of the one in which the process ended.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// run runs the tests of a package with a fault. It returns the test that failed first, or how the process ended.
func (t *tests) run(ctx context.Context, pkg, fault string) (killed string, output []byte) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	// Tests with package rapid write the draws of a failure into the source tree unless a flag forbids it.
	args := []string{"-test.failfast"}
	if t.rapid[pkg] {
		args = append(args, "-rapid.nofailfile")
	}
	cmd := exec.CommandContext(ctx, t.binary(pkg), args...)
	cmd.Dir, cmd.WaitDelay = filepath.Join(t.root, pkg), time.Second
	cmd.Env = append(os.Environ(), mutants.Variable+"="+fault)
	output, err := cmd.CombinedOutput()
	if s := cmd.ProcessState; s != nil {
		t.spent += s.UserTime() + s.SystemTime()
	}
	var exit *exec.ExitError
	switch found := failed.FindSubmatch(output); {
	case err == nil:
		return "", output
	case found != nil:
		return string(found[1]), output
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "time", output
	case errors.As(err, &exit):
		return "crash", output
	default:
		return err.Error(), output
	}
}
