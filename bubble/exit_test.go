//go:build lockstep_overlay

package bubble_test

import (
	"log"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// A node that ends its process, from whatever goroutine, is a finding with trace and stack, and does not end the test
// process.
func TestExit(t *testing.T) {
	log.SetOutput(t.Output())
	defer log.SetOutput(os.Stderr)
	var unlocked sync.Mutex
	for name, c := range map[string]struct {
		call func()
		text string
	}{
		"os.Exit":      {func() { os.Exit(3) }, "node 2 called os.Exit(3) at exit_test.go:"},
		"os.Exit(0)":   {func() { os.Exit(0) }, "node 2 called os.Exit(0) at exit_test.go:"},
		"syscall.Exit": {func() { syscall.Exit(3) }, "node 2 called syscall.Exit(3) at exit_test.go:"},
		"log.Fatal": {
			func() { log.Fatal("too bad") },
			"node 2 called log.Fatal, which exits with status 1, at exit_test.go:",
		},
		"goroutine": {func() { go os.Exit(3); time.Sleep(time.Hour) }, "node 2 called os.Exit(3) at "},
		"timer": {
			func() { time.AfterFunc(time.Second, func() { os.Exit(3) }) },
			"node 2 called os.Exit(3) at exit_test.go:",
		},
		"fatal": {unlocked.Unlock, "node 2 died of fatal error: sync: unlock of unlocked mutex at "},
	} {
		t.Run(name, func(t *testing.T) {
			start := func(n *bubble.Node) error {
				if n.Self() == 2 {
					time.Sleep(time.Second)
					c.call()
				}
				return nil
			}
			cluster := bubble.Cluster{
				Name:      "exiting",
				Nodes:     2,
				Start:     start,
				AllowExit: func(lockstep.Node, int) bool { return false },
			}
			found := explore(t,
				lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Steps: 40}, Runs: 3}).First()
			if found == nil || found.Flaky != "" || found.Finding.Property != "exit" ||
				!strings.HasPrefix(found.Finding.Text, c.text) {
				t.Fatalf("found %+v", found)
			}
			if len(found.Trace.Records) < 2 || found.Finding.Stack == "" {
				t.Errorf("%d records, stack %q", len(found.Trace.Records), found.Finding.Stack)
			}
		})
	}
}

// A handler that the engine's goroutine calls may exit, too.
func TestExitAtOnce(t *testing.T) {
	start := func(n *bubble.Node) error {
		n.OnRequestAtOnce(func(int32, string) {
			go n.Emit("alive", nil) // never runs: the process has exited
			os.Exit(4)
		})
		return nil
	}
	cluster := bubble.Cluster{Name: "exiting", Nodes: 2, Start: start, Requests: []string{"exit"}}
	none := spec.OnEvent("gone", "alive", func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
		return &lockstep.Finding{Text: "alive"}
	})
	found := explore(
		t,
		lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Request: 1, Steps: 10}, Spec: none, Runs: 1},
	).First()
	if found == nil || found.Finding.Property != "exit" ||
		!strings.Contains(found.Finding.Text, "called os.Exit(4) at exit_test.go:") {
		t.Fatalf("found %+v", found)
	}
}

// An exit that the cluster allows is the node's crash: its goroutines stop, it is down in the trace, and starts again.
func TestExitAllowed(t *testing.T) {
	for name, c := range map[string]bubble.Cluster{
		"plain":  {},
		"frozen": {Freeze: &bubble.Freeze{Files: &bubble.Files{}}, Network: bubble.Sockets{}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Name, c.Nodes = "exiting", 3
			c.AllowExit = func(n lockstep.Node, status int) bool { return n == 2 && status == 7 }
			c.Start = func(n *bubble.Node) error {
				n.Emit("start", n.Incarnation())
				if n.Self() == 2 && n.Incarnation() == 1 {
					go func() {
						for range 1000 {
							time.Sleep(250 * time.Millisecond)
							n.World().Event(lockstep.Event{Node: 2, Type: "beat"})
						}
					}()
					time.Sleep(time.Second)
					os.Exit(7)
				}
				return nil
			}
			plan := lockstep.Plan{System: c, Strategy: strategy.Walk{Wait: 3, Restart: 1, Steps: 60}, Runs: 3, Seed: 1}
			plan.Spec = spec.OnEvent("never", "never",
				func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { return nil })
			result := campaign(t, plan)
			if result.First() != nil || result.Verdict() != trace.Pass {
				t.Fatalf("%v, found %+v", result.Verdict(), result.First())
			}
			of, err := lockstep.Record(t.Context(), plan, 0)
			if err != nil {
				t.Fatal(err)
			}
			var after, beats, restarts int
			for _, r := range of.Records {
				if r.Step.Kind == trace.Restart && r.Step.Node == 2 {
					restarts++
				}
				for _, e := range r.Events {
					if e.Type == "beat" {
						beats++
					}
					if e.Type == bubble.Exited {
						after = beats
						if !strings.HasPrefix(e.Text, "called os.Exit(7) at exit_test.go:") || e.Node != 2 {
							t.Error(e)
						}
					}
				}
			}
			if after < 3 || beats != after || restarts != 1 {
				t.Errorf("%d beats before the exit, %d in all, %d restarts", after, beats, restarts)
			}
			if r, err := bubble.Repetition(t.Context(), plan, 5); err != nil || r.Same != 5 {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

// Exits of crashed nodes, in their grace time or while they stop, have no effect.
func TestExitOfTheDead(t *testing.T) {
	exits := 0
	start := func(n *bubble.Node) error {
		for n.Alive() {
			time.Sleep(10 * time.Millisecond)
		}
		exits++
		os.Exit(1)
		return nil
	}
	for name, c := range map[string]bubble.Cluster{"ends": {}, "frozen": {Freeze: &bubble.Freeze{Grace: time.Second}}} {
		c.Name, c.Nodes, c.Start = name, 3, start
		result := campaign(
			t,
			lockstep.Plan{
				System:   c,
				Strategy: strategy.Walk{Wait: 4, Crash: 1, Restart: 1, Steps: 40},
				Runs:     3,
				Seed:     1,
			},
		)
		if exits == 0 || result.First() != nil {
			t.Errorf("%s: %d exits, found %+v", name, exits, result.First())
		}
		exits = 0
	}
}
