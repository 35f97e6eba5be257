package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/trace"
)

// fullDisk accepts a few bytes and then fails.
type fullDisk struct {
	io.Writer
	left int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return f.Writer.Write(p)
}

// fullIn makes the disk full for the named directories.
func fullIn(full ...string) func(string, func(io.Writer) error) error {
	return func(file string, content func(io.Writer) error) error {
		for _, dir := range full {
			if strings.HasPrefix(file, dir) {
				return artifact.WriteFile(file, func(w io.Writer) error { return content(&fullDisk{w, 20}) })
			}
		}
		return artifact.WriteFile(file, content)
	}
}

// A full disk loses no finding. The command writes the trace elsewhere, or to standard error, prints the summary even
// so, and exits with status 2.
func TestFullDisk(t *testing.T) {
	for _, everywhere := range []bool{false, true} {
		spare := t.TempDir()
		t.Setenv("TMPDIR", spare)
		dir := filepath.Join(t.TempDir(), "out")
		var out, errOut bytes.Buffer
		e := &Env{
			Ctx:   context.Background(),
			Out:   &out,
			Err:   &errOut,
			Self:  "lockstep",
			app:   &testApp,
			write: fullIn(dir),
		}
		if everywhere {
			e.write = fullIn(dir, spare)
		}
		c := runCmd{explored: explored{Target: "smr-bug"}, Strategy: "uniform", Out: dir}
		err := c.Run(e)
		if err == nil || !strings.Contains(err.Error(), "no space left on device") {
			t.Fatalf("error %v", err)
		}
		if e.end(err) != statusFailure {
			t.Error("the status is not that of a failure")
		}
		if !strings.Contains(out.String(), "FAIL prefix") || !strings.Contains(out.String(), "guarantee:") {
			t.Errorf("the summary is lost:\n%s", out.String())
		}
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		hidden, _ := filepath.Glob(filepath.Join(dir, ".*lockstep*"))
		if len(left)+len(hidden) > 0 {
			t.Errorf("halves of files are left: %q %q", left, hidden)
		}
		if everywhere {
			_, text, _ := strings.Cut(errOut.String(), "no directory takes the trace, so here it is:\n")
			text, _, _ = strings.Cut(text, "lockstep: ")
			if _, err := trace.Read(strings.NewReader(text)); err != nil {
				t.Errorf("what is printed is not the trace: %v\n%s", err, errOut.String())
			}
			if left, _ := filepath.Glob(filepath.Join(spare, "*")); len(left) > 0 {
				t.Errorf("an empty directory is left: %q", left)
			}
		} else if saved, _ := filepath.Glob(filepath.Join(spare, "lockstep-rescue-*", "*.trace")); len(saved) == 0 ||
			!strings.Contains(err.Error(), "instead") {
			t.Errorf("saved %q, error %v", saved, err)
		}
	}
}

// In a world-writable directory for temporary files, the command follows no links that another user may have placed
// there. It rescues files into a directory of the user alone.
func TestRescueFollowsNoLinks(t *testing.T) {
	shared, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	t.Setenv("TMPDIR", shared)
	if err := os.WriteFile(elsewhere, []byte("my data"), 0o666); err != nil {
		t.Fatal(err)
	}
	run := &trace.Trace{Header: trace.Header{Target: "smr", Nodes: 1}, Outcome: trace.Outcome{Verdict: trace.Pass}}
	if err := os.Symlink(elsewhere, filepath.Join(shared, artifact.NameOf(run)+".trace")); err != nil {
		t.Fatal(err)
	}
	e := &Env{Err: io.Discard, write: artifact.WriteFile}
	file, err := e.rescue(run, errors.New("full"))
	if _, wrong := trace.ReadFile(file); wrong != nil || err == nil ||
		!strings.Contains(err.Error(), "it is in "+file+" instead") {
		t.Errorf("%s: %v, %v", file, wrong, err)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "my data" {
		t.Errorf("the link was followed: %q, %v", text, err)
	}
}

// A message has the program's name once, at its beginning, however many errors it wraps.
func TestOneLine(t *testing.T) {
	err := errors.Join(fmt.Errorf("x.trace: %w", errors.New("lockstep: no such\nthing")),
		errors.New("lockstep: nor that"))
	if got := oneLine(err); got != "x.trace: no such; thing; nor that" {
		t.Errorf("%q", got)
	}
	if got := oneLine(errors.New("target \x1b[2J\u202e")); got != "target ?[2J?" {
		t.Errorf("a terminal would obey: %q", got)
	}
}
