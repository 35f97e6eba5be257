// Package build builds the programs of targets on demand.
//
// The package calls the go command. It builds a program with a separate go.mod, in which the requested version replaces
// the library, so that the program's module stays unchanged. The source of Lockstep's own programs is the checkout that
// this program was built from, or the release that it is part of.
//
// The package keeps programs in the user's cache under a name that is derived from all inputs, and builds a program
// again only if an input changes. A program gets that name only when it is complete. If several processes need the same
// program, one builds it and the others wait. An interrupted build leaves no files.
package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/bubble/overlay"
	"github.com/lockstep-go/lockstep/target"
)

// Builder builds programs.
type Builder struct {
	// Cache is the directory for programs; empty means [Directory].
	Cache string
	// Go is the go command; empty means "go".
	Go string
	// BestEffort makes the builder build programs without the overlay of Go that makes them deterministic.
	BestEffort bool
	// Counters makes the builder build programs that count which statements they execute, in the packages that match
	// one of the patterns in Counted. Without patterns, these are the packages of the main module.
	Counters bool
	Counted  []string
	// Preempt makes the builder build programs whose goroutines can be preempted in the packages that match one of the
	// patterns in Preempted. Without patterns, these are the packages of the main module. It applies to programs that
	// are built with the overlay of Go.
	Preempt   bool
	Preempted []string
	// Log, if set, gets a line before a missing program is built, one when it is complete, and one if another process
	// is building it.
	Log func(line string)
}

// Program builds a program with a version of its library, if it has one, and returns the program's file. An empty
// version means the default one.
func (b *Builder) Program(ctx context.Context, p target.Program, version string) (file string, err error) {
	if err := p.Check(); err != nil {
		return "", err
	}
	if strings.HasPrefix(version, "-") { // the go tool would parse it as a flag
		return "", fmt.Errorf("the version %q of %s begins with -, which no version does", version, p.Name)
	}
	if err := p.CheckVersion(version); err != nil {
		return "", err
	}
	if _, err := exec.LookPath(b.goCommand()); err != nil {
		return "", fmt.Errorf(
			"%s is built on demand, which needs the go command: %w; install it from https://go.dev/dl",
			p.Name,
			err,
		)
	}
	cache, err := b.cache()
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(b.Counted, func(p string) bool { return p == "" || strings.ContainsAny(p, ", \t\n") }) {
		return "", fmt.Errorf("the patterns of packages %q: each is a word without commas", b.Counted)
	}
	j := job{Builder: b, program: p, version: version, cache: cache}
	if version == "" && len(p.Versions) > 0 {
		j.version = p.Versions[0]
	}
	remove, err := j.makeWork()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	file, err = j.build(ctx)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return file, err
}

// Directory returns the directory of programs in the user's cache.
func Directory() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no directory for programs that are built on demand: %w", err)
	}
	return filepath.Join(user, "lockstep", "programs"), nil
}

// cache returns the directory for programs.
func (b *Builder) cache() (string, error) {
	if b.Cache != "" {
		return filepath.Abs(b.Cache)
	}
	return Directory()
}

// goCommand returns the go command of the builder.
func (b *Builder) goCommand() string { return cmp.Or(b.Go, "go") }

func (b *Builder) log(format string, args ...any) {
	if b.Log != nil {
		b.Log(fmt.Sprintf(format, args...))
	}
}

// job is the build of one program.
type job struct {
	*Builder
	program target.Program
	version string
	cache   string // the directory for programs
	work    string // a temporary directory of this job
	full    error  // the reason why the cache is unusable

	source  string            // the directory to build in; empty means the working directory
	alone   bool              // without the surrounding workspace
	flags   []string          // of go list and go build
	tags    []string          // of go list and go build
	overlay map[string]string // files that replace others
	index   string            // of the overlay of Go; its name is a hash of its contents; empty: none
	counts  string            // of the overlay for counters
	sources map[string]string // directories of the modules that may be counted
	tool    *overlay.Toolchain
}

// makeWork creates the job's temporary directory, beside the programs. A read-only cache may still have the program:
// then the directory is among the temporary files.
func (j *job) makeWork() (remove func() error, err error) {
	j.full = os.MkdirAll(j.cache, 0o777)
	if j.full == nil {
		j.work, j.full = os.MkdirTemp(j.cache, "build-*")
	}
	if j.full != nil {
		if j.work, err = os.MkdirTemp("", "lockstep-build-*"); err != nil {
			return nil, err
		}
	}
	if err := guardDirectory(j.work); err != nil {
		return nil, errors.Join(err, os.RemoveAll(j.work))
	}
	return func() error { return errors.Join(os.RemoveAll(j.work), releaseDirectory(j.work)) }, nil
}

func (j *job) build(ctx context.Context) (string, error) {
	if err := j.prepare(ctx); err != nil {
		return "", err
	}
	key, err := j.key(ctx)
	if err != nil {
		return "", err
	}
	file := filepath.Join(j.cache, j.fileName(key))
	if exists(file) {
		return file, nil
	}
	if j.full != nil {
		return "", fmt.Errorf(
			"%s cannot be built: programs are kept in %s, which cannot be written: %w; XDG_CACHE_HOME sets another cache",
			j.name(),
			j.cache,
			j.full,
		)
	}
	unlock, err := j.lock(ctx, filepath.Base(file))
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(file) { // another process has built it
		return file, nil
	}
	return file, j.compile(ctx, key, file)
}

// compile builds the program and keeps it as a file.
func (j *job) compile(ctx context.Context, key, file string) error {
	j.log("building %s", j.name())
	start := time.Now()
	made := filepath.Join(j.work, "program"+suffix())
	said := "-X " + target.Root + "/target.key=" + key
	if name := j.program.Build(j.version); name != "" {
		said += " -X " + target.Root + "/target.build=" + name
	}
	args := append([]string{"build"}, j.flags...)
	if j.Counters {
		args = append(args, j.counterFlags()...)
		said += " -X " + target.Root + "/target.sources=" + j.packSources()
	}
	args = append(args, "-ldflags", said)
	if _, err := j.run(ctx, append(args, "-o", made, "--", j.program.Package)...); err != nil {
		return fmt.Errorf("%s cannot be built: %w%s", j.name(), err, j.known())
	}
	if err := j.keep(made, file); err != nil {
		return err
	}
	j.log("built in %v, kept as %s", time.Since(start).Round(100*time.Millisecond), file)
	j.prune(strings.TrimSuffix(file, key+suffix()))
	return nil
}

// keep renames a complete program to the name under which it is found, after all of it is on disk.
func (j *job) keep(made, file string) error {
	f, err := os.OpenFile(made, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(made, file)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// kept is the number of kept programs with one name and version.
const kept = 4

// prune removes the oldest programs with a common prefix. A program that cannot be removed, because it is running,
// stays.
func (j *job) prune(prefix string) {
	all, _ := filepath.Glob(prefix + "*")
	age := map[string]int64{}
	all = slices.DeleteFunc(all, func(file string) bool {
		info, err := os.Stat(file)
		if err == nil {
			age[file] = info.ModTime().UnixNano()
		}
		return err != nil || len(file) != len(prefix)+2*keyBytes+len(suffix())
	})
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(age[b], age[a]) })
	for _, file := range all[min(kept, len(all)):] {
		_ = os.Remove(file)
	}
}

// suffix returns the end of a program's file name.
func suffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// name describes the program as text.
func (j *job) name() string {
	if build := j.program.Build(j.version); build != "" {
		return j.program.Name + " with " + build
	}
	return j.program.Name
}

// known lists the versions that are known to work, if this one is not among them.
func (j *job) known() string {
	if len(j.program.Versions) == 0 || slices.Contains(j.program.Versions, j.version) {
		return ""
	}
	return "; versions known to work: " + strings.Join(j.program.Versions, ", ")
}

// fileName returns the name of the program in the cache.
func (j *job) fileName(key string) string {
	name := filepath.Base(j.program.Name)
	if j.source != "" && j.program.Package == "." {
		name = filepath.Base(j.source)
	}
	if j.version != "" {
		name += "-" + j.version
	}
	if j.index != "" {
		name += "-exact"
		if j.Preempt {
			name += "-points"
		}
	}
	if j.counts != "" {
		name += "-counted"
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) {
			return '_'
		}
		return r
	}, name) + "-" + key + suffix()
}
