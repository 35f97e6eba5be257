package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/remote"
	"github.com/lockstep-go/lockstep/remote/client"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// The test program is also its replicas.
func TestMain(m *testing.M) {
	if os.Getenv(client.URLVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// seen is violated when a get misses an earlier put.
var seen = spec.New("gets see puts", func(lockstep.Info) *gets { return &gets{} })

type gets struct {
	put     bool
	checked int
}

func (g *gets) Reset()                              { *g = gets{} }
func (g *gets) Checked() int                        { return g.checked }
func (g *gets) End(*lockstep.Run) *lockstep.Finding { return nil }
func (g *gets) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type == "put" {
		g.put = true
		return nil
	}
	if g.put {
		g.checked++
	}
	if key, value, _ := strings.Cut(e.Value.(string), "="); g.put && value == "" {
		return &lockstep.Finding{Text: fmt.Sprintf("node %d has no %s", e.Node, key)}
	}
	return nil
}

// The store answers before its backups have the value, and the tester finds that.
func TestStore(t *testing.T) {
	system := remote.System{
		Name:     "kv",
		Nodes:    3,
		Requests: []string{"put x=1", "get x"},
		Limits:   remote.Limits{Timeout: time.Minute},
		Command:  func(lockstep.Node, string) *exec.Cmd { return exec.Command(os.Args[0]) },
	}
	result, err := lockstep.Explore(t.Context(),
		lockstep.Plan{System: system, Spec: seen, Strategy: strategy.DefaultWalk, Runs: 50, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if result.First() == nil {
		t.Errorf("%+v", result)
	}
}
