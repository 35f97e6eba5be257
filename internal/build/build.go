// Package build makes the programs of targets that are built on demand.
//
// The go tool does the work. A program that comes in versions is built with a go.mod of its
// own, in which the library is replaced by the version asked for, so that the module that it
// is in stays as it is. What was built is kept in the user's cache under a name that is made
// from everything that went into it; as long as nothing changed, it is not built again.
package build

import (
	"bytes"
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

	"github.com/lockstep-go/lockstep/bubble/overlay"
	"github.com/lockstep-go/lockstep/target"
)

// Builder builds programs.
type Builder struct {
	// Cache is the folder for programs; empty means a folder of its own in os.UserCacheDir.
	Cache string
	// Go is the go tool; empty means "go".
	Go string
	// Exact says that programs are built with the overlay of Go that makes them repeat exactly.
	Exact bool
	// Building, where it is set, is told before a program is built that is not in the cache.
	Building func(name string)
}

// Program makes a program with a version of its library, where it has one, and returns the
// program's file. An empty version means the usual one.
func (b *Builder) Program(ctx context.Context, p target.Program, version string) (file string, err error) {
	if err := p.Check(); err != nil {
		return "", err
	}
	if strings.HasPrefix(version, "-") { // the go tool would take it for a flag
		return "", fmt.Errorf("the version %q of %s begins with -, which no version does", version, p.Name)
	}
	cache, err := b.cache()
	if err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(cache, "build-*")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	j := job{Builder: b, program: p, version: version, cache: cache, work: work}
	if version == "" && len(p.Versions) > 0 {
		j.version = p.Versions[0]
	}
	file, err = j.build(ctx)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return file, err
}

// cache makes the folder for what is built.
func (b *Builder) cache() (string, error) {
	dir := b.Cache
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("there is no folder for programs that are built on demand: %w", err)
		}
		dir = filepath.Join(user, "lockstep", "programs")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o777)
}

// job is one program in the making.
type job struct {
	*Builder
	program target.Program
	version string
	cache   string // where programs are kept
	work    string // a folder of the job's own

	source  string            // the folder to build in; empty means the working directory
	alone   bool              // without the workspace around it
	flags   []string          // of go list and go build
	tags    []string          // likewise
	overlay map[string]string // files that stand for others
	index   string            // of the overlay of Go, whose name says what it is made of; empty: none
	tool    *overlay.Toolchain
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
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if j.Building != nil {
		j.Building(j.name())
	}
	made := filepath.Join(j.work, "program")
	said := "-X github.com/lockstep-go/lockstep/target.key=" + key
	if name := j.program.Build(j.version); name != "" {
		said += " -X github.com/lockstep-go/lockstep/target.build=" + name
	}
	args := append(append([]string{"build"}, j.flags...), "-ldflags", said)
	if _, err := j.run(ctx, append(args, "-o", made, "--", j.program.Package)...); err != nil {
		return "", fmt.Errorf("%s cannot be built: %w%s", j.name(), err, j.known())
	}
	if err := os.Rename(made, file); err != nil {
		return "", err
	}
	j.prune(strings.TrimSuffix(file, key+suffix()))
	return file, nil
}

// kept is the number of programs of one name and version that are kept.
const kept = 4

// prune removes the oldest programs whose names begin alike. One that cannot be removed,
// because somebody runs it, stays.
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

// suffix is the end of a program's file name.
func suffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// name is the program in words.
func (j *job) name() string {
	if build := j.program.Build(j.version); build != "" {
		return j.program.Name + " with " + build
	}
	return j.program.Name
}

// known names the versions that are known to work, where this one is not among them.
func (j *job) known() string {
	for _, v := range j.program.Versions {
		if v == j.version {
			return ""
		}
	}
	if len(j.program.Versions) == 0 {
		return ""
	}
	return "; versions known to work: " + strings.Join(j.program.Versions, ", ")
}

// fileName is the name of the program in the cache.
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
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) {
			return '_'
		}
		return r
	}, name) + "-" + key + suffix()
}

// messages are the lines of the go tool's complaint that are worth showing.
const messages = 5

// run runs the go tool and returns what it prints. An error has its first lines.
func (j *job) run(ctx context.Context, args ...string) (string, error) {
	tool := j.Go
	if tool == "" {
		tool = "go"
	}
	env := os.Environ()
	if j.tool != nil {
		tool, env = j.tool.Command(), j.tool.Environment(env)
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = j.source
	if j.alone { // a workspace would not take a go.mod of one's own
		env = append(env, "GOWORK=off")
	}
	cmd.Env = env
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is built on demand, which needs the go tool: %w", j.program.Name, err)
	}
	if err != nil {
		var lines []string
		for line := range strings.Lines(failed.String()) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			return "", err
		}
		if len(lines) > messages {
			lines = append(lines[:messages], fmt.Sprintf("and %d lines more", len(lines)-messages))
		}
		return "", errors.New(strings.Join(lines, "; "))
	}
	return strings.TrimSpace(out.String()), nil
}
