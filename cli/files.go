package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/keep"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// CheckOut reports before any work is done when the folder of the flag --out could not be
// written to.
func CheckOut(dir string) error {
	at := dir
	for {
		info, err := os.Stat(at)
		if err == nil {
			if !info.IsDir() {
				return fmt.Errorf("--out %s: %s is not a folder", dir, at)
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

// CheckFiles reports before any work is done when the folder of a file that a flag names is
// not there. Flags are given by name and value; an empty value is none.
func CheckFiles(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		flag, file := pairs[i], pairs[i+1]
		if file == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return fmt.Errorf("--%s %s: there is no folder %s", flag, file, filepath.Dir(file))
		}
	}
	return nil
}

// Keep shrinks, draws and stores a failing run. Where the trace cannot be stored, it goes to
// the folder for temporary files or to standard error, so that what was found is not lost;
// the failure is reported all the same.
func (e *Env) Keep(plan lockstep.Plan, found *trace.Trace, o keep.Options) (*keep.Kept, error) {
	o.Write, o.Tool = e.write, tool()
	allowed := e.allowances(plan)
	o.Replay = func(file string) string { return e.Replay(file, allowed...) }
	if self, err := os.Executable(); err == nil {
		o.Fresh = func(file string) []string { return append([]string{self, "replay", file}, setFlags(allowed)...) }
	}
	k, err := keep.Run(e.Ctx, plan, found, o)
	if k.File == "" {
		k.File, err = e.rescue(k.Trace, err)
	}
	return k, err
}

// Replay is the command that replays a trace, with the main package that this program was
// built from where it was asked for by that, and with the options that the trace must not choose itself.
func (e *Env) Replay(file string, allowed ...string) string {
	words := []string{e.Self, "replay", file}
	if isPackage(e.asked) {
		words = append(words, "--program", e.asked)
	}
	if e.bestEffort {
		words = append(words, "--no-overlay")
	}
	return commandLine(append(words, setFlags(allowed)...))
}

// store stores a trace as it is, under a name.
func (e *Env) store(dir, name string, t *trace.Trace) (string, error) {
	file, err := e.tryStore(dir, name, t)
	if err != nil {
		return e.rescue(t, err)
	}
	return file, nil
}

// tryStore does so, and leaves it to the caller what to do where that fails.
func (e *Env) tryStore(dir, name string, t *trace.Trace) (string, error) {
	file := filepath.Join(dir, name+".trace")
	t.Header.Tool = tool()
	err := keep.MakeFolder(dir)
	if err == nil {
		err = keep.Trace(e.write, file, t)
	}
	return file, err
}

// rescue stores a trace anywhere. The folder for temporary files is everybody's: nobody else can have put a link into one
// that is made for this, under a name that nobody knew, for the user alone.
func (e *Env) rescue(t *trace.Trace, err error) (string, error) {
	if dir, made := os.MkdirTemp("", "lockstep-rescue-*"); made == nil {
		spare := filepath.Join(dir, keep.NameOf(t)+".trace")
		if keep.Trace(e.write, spare, t) == nil {
			return spare, fmt.Errorf("%w; it is in %s instead", err, spare)
		}
		_ = os.RemoveAll(dir)
	}
	fmt.Fprintln(e.Err, "lockstep: no folder takes the trace, so here it is:")
	_ = trace.Write(e.Err, t)
	return "", err
}

// tool names this program in traces: its version and, where it is one of somebody's own, its
// main package.
func tool() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Path == "" || strings.HasPrefix(info.Path, target.Root+"/") || target.ThisBuild() != "" {
		return lockstep.Version
	}
	return lockstep.Version + " " + info.Path
}

// joinLines makes one line of a text. What a trace has put into it is no command for a terminal.
func joinLines(s string) string {
	line := strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", "; ")), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '?'
		}
		return r
	}, line)
}

// commandLine are words as one pastes them into a shell.
func commandLine(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = quoted(w)
	}
	return strings.Join(list, " ")
}

// quoted is a word as a shell takes it.
func quoted(s string) string {
	special := func(r rune) bool {
		return r < utf8.RuneSelf &&
			!(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+=:,./@%^", r))
	}
	if s == "" || strings.ContainsFunc(s, special) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
