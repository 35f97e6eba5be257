package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstep-go/lockstep/trace"
)

// fullDisk takes a few bytes and then no more.
type fullDisk struct {
	outFile
	left int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return f.outFile.Write(p)
}

// fullIn makes the disk full for the folders named.
func fullIn(full ...string) func(string) (outFile, error) {
	return func(dir string) (outFile, error) {
		f, err := createTemp(dir)
		for _, d := range full {
			if strings.HasPrefix(dir, d) && err == nil {
				return &fullDisk{f, 20}, nil
			}
		}
		return f, err
	}
}

// A full disk loses nothing: the trace goes elsewhere, or to standard error, the summary
// is printed all the same, and the status is 2.
func TestFullDisk(t *testing.T) {
	spare := t.TempDir()
	t.Setenv("TMPDIR", spare)
	for _, everywhere := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "out")
		var out, errOut bytes.Buffer
		e := &env{ctx: context.Background(), out: &out, err: &errOut, self: "lockstep", create: fullIn(dir)}
		if everywhere {
			e.create = fullIn(dir, spare)
		}
		c := runCmd{Target: "smr-bug", Strategy: "uniform", Out: dir}
		err := c.Run(e)
		if err == nil || !strings.Contains(err.Error(), "no space left on device") {
			t.Fatalf("error %v", err)
		}
		if !strings.Contains(out.String(), "FAIL prefix") || !strings.Contains(out.String(), "guarantee:") {
			t.Errorf("the summary is lost:\n%s", out.String())
		}
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		hidden, _ := filepath.Glob(filepath.Join(dir, ".*trace*"))
		if len(left)+len(hidden) > 0 {
			t.Errorf("halves of files are left: %q %q", left, hidden)
		}
		if everywhere {
			start := strings.Index(errOut.String(), `{"lockstep"`)
			end := strings.Index(errOut.String()[start+1:], `{"lockstep"`)
			if _, err := trace.Read(strings.NewReader(errOut.String()[start:][:end+1-len("lockstep: no folder takes the trace, so here it is:\n")])); err != nil {
				t.Errorf("what is printed is not the trace: %v", err)
			}
		} else if saved, _ := filepath.Glob(filepath.Join(spare, "*.trace")); len(saved) == 0 || !strings.Contains(err.Error(), "instead") {
			t.Errorf("saved %q, error %v", saved, err)
		}
		for _, f := range []string{"smr-bug-prefix-seed0-run6.trace", "smr-bug-prefix-seed0-run6.found.trace"} {
			os.Remove(filepath.Join(spare, f))
		}
	}
}

// An interrupt ends the campaign with the summary of what was done.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errOut bytes.Buffer
	status := execute(ctx, "lockstep", []string{"run", "smr", "--out", t.TempDir()}, &out, &errOut)
	if status != statusClean || !strings.Contains(out.String(), "interrupted") {
		t.Errorf("status %d, out:\n%s%s", status, out.String(), errOut.String())
	}
}

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{"a/b.trace": "a/b.trace", "a b": "'a b'", "it's": `'it'\''s'`} {
		if got := quoted(in); got != want {
			t.Errorf("quoted(%q) = %s, want %s", in, got, want)
		}
	}
}
