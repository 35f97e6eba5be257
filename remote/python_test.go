package remote_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/remote"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// seesWrites is violated when a read misses a write that was answered before.
var seesWrites = spec.New("reads see answered writes", func(lockstep.Info) *reads { return &reads{} })

type reads struct {
	wrote   bool
	checked int
}

func (r *reads) Reset()                              { *r = reads{} }
func (r *reads) Checked() int                        { return r.checked }
func (r *reads) End(*lockstep.Run) *lockstep.Finding { return nil }
func (r *reads) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type == "wrote" {
		r.wrote = true
		return nil
	}
	r.checked++
	if r.wrote && e.Value == "-" {
		return &lockstep.Finding{Text: fmt.Sprintf("node %d reads nothing after a write was answered", e.Node)}
	}
	return nil
}

// The tester finds the bug of replicas in Python and shrinks the finding to the minimum number of steps. Their client
// uses the standard library, and was written from the documentation of the protocol alone.
func TestPython(t *testing.T) {
	python := outside.Program(t, "python3")
	dir, err := filepath.Abs("../clients/python")
	if err != nil {
		t.Fatal(err)
	}
	system := remote.System{
		Name:     "register",
		Nodes:    3,
		Requests: []string{"write a", "read"},
		Limits:   remote.Limits{Timeout: time.Minute},
		Types:    []string{"write", "written"},
		Events:   []string{"wrote", "read"},
		Command: func(lockstep.Node, string) *exec.Cmd {
			cmd := exec.Command(python, filepath.Join(dir, "register.py"))
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
			return cmd
		},
	}
	plan := lockstep.Plan{
		System:   system,
		Spec:     seesWrites,
		Strategy: strategy.DefaultWalk,
		Runs:     200,
		Steps:    30,
		Workers:  1,
	}
	f := enginetest.First(t, plan)
	small, err := shrink.Run(t.Context(), plan, f.Trace, shrink.Options{Attempts: 300})
	if err != nil {
		t.Fatal(err)
	}
	if enginetest.Explored(small.Trace) != 4 { // write, its delivery, delivery of the response, read
		t.Errorf("shrunk to %s", small.Is)
	}
	enginetest.FailsAgain(t, plan, small.Trace)
}

// TestTutorial follows docs/tutorials/python.md from an empty directory.
func TestTutorial(t *testing.T) {
	tier.OnlyFull(t, "it builds a program and shrinks its failing run for half a minute")
	outside.Program(t, "python3")
	(&page.Reader{Root: ".."}).Follow(t, "../docs/tutorials/python.md")
}
