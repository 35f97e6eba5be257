package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// CheckOut reports, before any work is done, that the directory of the flag --out is not writable.
func CheckOut(dir string) error {
	at := dir
	for {
		info, err := os.Stat(at)
		if err == nil {
			if !info.IsDir() {
				return fmt.Errorf("--out %s: %s is not a directory", dir, at)
			}
			break
		}
		parent := filepath.Dir(at)
		if !errors.Is(err, os.ErrNotExist) || parent == at {
			return fmt.Errorf("--out %s cannot be used: %w", dir, err)
		}
		at = parent
	}
	f, err := os.CreateTemp(at, ".lockstep-*")
	if err != nil {
		return fmt.Errorf("--out %s cannot be written to: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// CheckFiles reports, before any work is done, that the directory of a file in a flag does not exist. Flags are given
// as pairs of name and value; an empty value means no file.
func CheckFiles(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		flag, file := pairs[i], pairs[i+1]
		if file == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return fmt.Errorf("--%s %s: there is no directory %s", flag, file, filepath.Dir(file))
		}
	}
	return nil
}

// Keep shrinks, draws and stores a failing run. If it cannot store the trace, it writes it to the directory for
// temporary files or to standard error, so that the finding is not lost. It returns the failure even so.
func (e *Env) Keep(plan lockstep.Plan, found *trace.Trace, o artifact.Options) (*artifact.Kept, error) {
	o.Fresh = e.fresh(e.allowances(plan))
	return e.keep(e.Ctx, plan, found, o)
}

// keep is Keep within a context, without a rerun in a fresh process unless the options have one.
func (e *Env) keep(ctx context.Context, plan lockstep.Plan, found *trace.Trace, o artifact.Options) (*artifact.Kept,
	error) {
	o.Write, o.Tool = e.write, tool()
	allowed := e.allowances(plan)
	o.Replay = func(file string) string { return e.Replay(file, allowed...) }
	k, err := artifact.Run(ctx, plan, found, o)
	if k.File == "" {
		k.File, err = e.rescue(k.Trace, err)
	}
	return k, err
}

// fresh returns the command by which another process replays a trace, or nil if this program has no file.
func (e *Env) fresh(allowed []string) func(file string) []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return func(file string) []string {
		return slices.Concat([]string{self, "replay", file}, e.conformed.words(), setFlags(allowed))
	}
}

// Replay returns the command that replays a trace. The command names this program's main package if the user asked for
// the program by its package. It also has the options that a trace must not set.
func (e *Env) Replay(file string, allowed ...string) string {
	words := append([]string{e.Self, "replay", file}, e.conformed.words()...)
	if isPackage(e.asked) {
		words = append(words, "--program", e.asked)
	}
	if e.bestEffort {
		words = append(words, "--no-overlay")
	}
	return commandLine(append(words, setFlags(allowed)...))
}

// store stores a trace unchanged, under a name.
func (e *Env) store(dir, name string, t *trace.Trace) (string, error) {
	file, err := e.tryStore(dir, name, t)
	if err != nil {
		return e.rescue(t, err)
	}
	return file, nil
}

// tryStore stores a trace, and leaves the handling of an error to the caller.
func (e *Env) tryStore(dir, name string, t *trace.Trace) (string, error) {
	file := filepath.Join(dir, name+".trace")
	t.Header.Tool = tool()
	err := artifact.MakeDir(dir)
	if err == nil {
		err = artifact.Trace(e.write, file, t)
	}
	return file, err
}

// rescue stores a trace in a new place. All users share the directory for temporary files. rescue creates a directory
// with an unpredictable name, for this user alone, so that no other user can have put a link into it.
func (e *Env) rescue(t *trace.Trace, err error) (string, error) {
	if dir, made := os.MkdirTemp("", "lockstep-rescue-*"); made == nil {
		spare := filepath.Join(dir, artifact.NameOf(t)+".trace")
		if artifact.Trace(e.write, spare, t) == nil {
			return spare, fmt.Errorf("%w; it is in %s instead", err, spare)
		}
		_ = os.RemoveAll(dir)
	}
	fmt.Fprintln(e.Err, "lockstep: no directory takes the trace, so here it is:")
	_ = trace.Write(e.Err, t)
	return "", err
}

// tool names this program in traces: its version and, for a custom program, its main package.
func tool() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Path == "" || strings.HasPrefix(info.Path, target.Root+"/") || target.ThisBuild() != "" {
		return lockstep.Version
	}
	return lockstep.Version + " " + info.Path
}

// joinLines returns a text as one line, without control characters. A trace cannot send commands to a terminal in this
// way.
func joinLines(s string) string {
	return words.Clean(strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", "; ")), " "))
}

// commandLine returns words in a form that one can paste into a shell.
func commandLine(list []string) string {
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = words.Quoted(w)
	}
	return strings.Join(quoted, " ")
}
