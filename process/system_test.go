package process

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// noted is a system of sleeping servers whose driver records which of its functions are called.
func noted(reuse bool, note func(string)) System {
	return System{Name: "noted", Nodes: 1, StartTimeout: time.Minute, Reuse: reuse, Messages: true,
		New: func(context.Context, *Deployment) (Driver, error) {
			return Driver{
				Stop:  func() { note("stop") },
				Reset: func() error { note("reset"); return nil },
				Command: func(lockstep.Node) (*exec.Cmd, error) {
					note("command")
					return exec.Command("sleep", "600"), nil
				},
				Ready: func(context.Context, lockstep.Node, lockstep.Nodes) bool { note("ready"); return true },
				Begin: func(_ context.Context, out *lockstep.Outbox) error {
					note("begin")
					out.Offer(trace.Pending{ID: 1, To: trace.NodesOf(1)})
					return nil
				},
				Before:      func(s *lockstep.Step, _ *lockstep.Outbox) { note("before " + s.Kind.String()) },
				Request:     func(context.Context, *lockstep.Step, *lockstep.Outbox) error { note("request"); return nil },
				MustBeReady: func(*lockstep.Outbox) lockstep.Nodes { note("agree"); return 0 },
				Advance: func(context.Context, time.Duration, lockstep.Nodes, *lockstep.Outbox) error {
					note("advance")
					return nil
				},
				Quiesce: func(context.Context, *lockstep.Step) error { note("quiesce"); return nil },
				Inspect: func(context.Context, *lockstep.Outbox) error { note("inspect"); return nil },
				Close:   func() { note("close") },
			}, nil
		}}
}

// The functions of a driver are called in the documented order. Reused servers start once.
func TestDriver(t *testing.T) {
	for reuse, want := range map[bool]string{
		false: "stop reset command ready begin, before request request quiesce, before wait agree advance quiesce, before " +
			"wait " +
			"agree advance inspect, " +
			"stop reset command ready begin, before request request quiesce, before wait agree advance quiesce, before wait " +
			"agree " +
			"advance inspect, stop close",
		true: "stop reset command ready begin, before request request quiesce, before wait agree advance quiesce, before " +
			"wait " +
			"agree advance inspect, " +
			"stop reset ready begin, before request request quiesce, before wait agree advance quiesce, before wait agree " +
			"advance " +
			"inspect, stop close",
	} {
		var calls []string
		plan := lockstep.Plan{
			System:   noted(reuse, func(what string) { calls = append(calls, what) }),
			Strategy: strategy.Walk{Request: 1e9, Wait: 1, Steps: 2},
			Settle:   1,
			Runs:     2,
			Workers:  1,
			Scratch:  t.TempDir(),
		}
		if _, err := lockstep.Explore(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(calls, " "), strings.ReplaceAll(want, ",", ""); got != want {
			t.Errorf("reuse %v:\n%s\ninstead of\n%s", reuse, got, want)
		}
	}
}

// Servers can be started without an engine, and nothing is left of them.
func TestOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	system, ran := noted(false, func(string) {}), 0
	err := system.Once(t.Context(), func(c *Deployment) error {
		ran = c.Server(1).Pid()
		return nil
	})
	if err != nil || ran == 0 {
		t.Errorf("pid %d, %v", ran, err)
	}
	wrong := errors.New("wrong")
	if err := system.Once(t.Context(), func(*Deployment) error { return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
}

// Missing fields of a system are named before any server starts.
func TestWrongSystem(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	good := noted(false, func(string) {})
	for want, change := range map[string]func(*System){
		"process: noted has no New, so no servers":                              func(s *System) { s.New = nil },
		"process: noted has 65 nodes, allowed are 1..64":                        func(s *System) { s.Nodes = 65 },
		"process: noted has pace -1ns and timeout 1m0s, which must be positive": func(s *System) { s.Pace = -1 },
		"process: noted has Datagrams without Messages, or Forge or Body without Datagrams": func(s *System) {
			s.Messages, s.Datagrams = false, true
		},
		"bad options": func(s *System) { s.Check = func() error { return errors.New("bad options") } },
	} {
		s := good
		change(&s)
		_, described := s.Describe()
		_, deployed := s.Deploy(t.Context(), &lockstep.Env{})
		if described == nil || deployed == nil || described.Error() != want || deployed.Error() != want {
			t.Errorf("%v and %v instead of %s", described, deployed, want)
		}
	}
	good.Datagrams, good.Forge = true, func(string, trace.ID, func(trace.ID) []byte) (Packet, []byte, error) {
		return Packet{}, nil, nil
	}
	if info, err := good.Describe(); err != nil || !info.Supports.Has(trace.Duplicate) ||
		!info.Supports.Has(trace.Replace) {
		t.Errorf("%v, %v", info.Supports, err)
	}
	good.New = func(context.Context, *Deployment) (Driver, error) { return Driver{}, nil }
	if _, err := good.Deploy(t.Context(), &lockstep.Env{}); err == nil ||
		err.Error() != "process: the driver of noted has no Command or no Request" {
		t.Error(err)
	}
}
