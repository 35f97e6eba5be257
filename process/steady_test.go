package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/trace"
)

// The first run begins with empty directories. A resumed run has the same servers, and restarts those that ended.
func TestResume(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, err := NewDeployment(new(lockstep.Env), 3, Closes)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d, err := newEchoing(c)
	if err != nil {
		t.Fatal(err)
	}
	c.command, c.StartTimeout = d.driver().Command, time.Minute
	file := filepath.Join(d.Server(1).Dir, "data")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var pids [2][3]int
	for run := range pids {
		if err := d.Resume(); err != nil {
			t.Fatal(err)
		}
		if err := d.up(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range pids[run] {
			pids[run][i] = d.Server(lockstep.Node(i + 1)).Pid()
		}
		if run == 1 {
			break
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("the first run finds data")
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		d.Deployment.Do(&lockstep.Step{Kind: trace.Crash, Node: 2}, nil)
		d.Deployment.Do(&lockstep.Step{Kind: trace.Restart, Node: 2}, nil)
		if got := d.KindsSinceReady(); got != trace.KindsOf(trace.Crash, trace.Restart) {
			t.Errorf("did %v", got)
		}
		d.Deployment.Do(&lockstep.Step{Kind: trace.Crash, Node: 2}, nil)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("data was lost", err)
	}
	if pids[0][0] != pids[1][0] || pids[0][2] != pids[1][2] || pids[0][1] == pids[1][1] {
		t.Errorf("the processes were %v", pids)
	}
	if d.KindsSinceReady() != 0 || d.Spent.Starting == 0 {
		t.Errorf("did %v, %v", d.KindsSinceReady(), d.Spent)
	}
}

// Lines that a server printed before a run do not belong to that run.
func TestLinesOfRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, err := NewDeployment(new(lockstep.Env), 1, Closes)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Server(1).Start(exec.Command("/bin/sh", "-c", "echo old; exec sleep 600")); err != nil {
		t.Fatal(err)
	}
	processes.Until(func() bool { return len(c.Server(1).Log.Last(1)) > 0 })
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	if lines, _ := c.Server(1).Log.Since(c.marks[0]); len(lines) != 0 {
		t.Errorf("the run begins with %q", lines)
	}
}

// A server may consist of several processes: connections of each belong to the node.
func TestNodeOfGroup(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, err := NewDeployment(new(lockstep.Env), 2, Closes)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Server(2).Start(exec.Command("/bin/sh", "-c", "sleep 600 & echo $!; wait")); err != nil {
		t.Fatal(err)
	}
	processes.Until(func() bool { return len(c.Server(2).Log.Last(1)) > 0 })
	second, err := strconv.Atoi(c.Server(2).Log.Last(1)[0])
	if err != nil || second == c.Server(2).Pid() || c.nodeOf(second) != 2 || c.nodeOf(os.Getpid()) != 0 ||
		c.nodeOf(0) != 0 {
		t.Errorf("process %d is of node %d, %v", second, c.nodeOf(second), err)
	}
}

// Ask waits for a quick call; a slow one continues; a canceled one also has a result, and a forgotten one has none.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		calls := calls{}
		var got []string
		ask := func(client int, takes time.Duration) {
			if err := calls.ask(t.Context(), client, time.Second, func(ctx context.Context) func(*lockstep.Outbox) {
				result := "done"
				if Sleep(ctx, takes) != nil {
					result = "canceled"
				}
				return func(*lockstep.Outbox) { got = append(got, fmt.Sprint(client, " ", result)) }
			}); err != nil {
				t.Error(err)
			}
		}
		look := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got = nil
			calls.report(nil)
			if !slices.Equal(got, want) {
				t.Errorf("after %s: %q instead of %q", time.Since(begin), got, want)
			}
		}
		ask(3, 0)
		ask(2, 1500*time.Millisecond)
		ask(1, time.Hour)
		if !calls.busy() {
			t.Error("no goroutine waits")
		}
		look("2 done", "3 done")
		look()
		if waited := time.Since(begin); waited != 2*time.Second {
			t.Errorf("waited %s", waited)
		}
		calls.cancel()
		look("1 canceled")
		ask(1, time.Hour)
		calls.forget()
		look()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := calls.ask(ctx, 1, time.Second,
			func(context.Context) func(*lockstep.Outbox) { return nil }); !errors.Is(
			err,
			context.Canceled,
		) {
			t.Error(err)
		}
		calls.forget()
	})
}

// An operation that eventually succeeds is no error. One that never does makes the run inconclusive. An interrupt ends
// the campaign.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		try := func(enough int) func(context.Context) error {
			attempts = 0
			return func(context.Context) error {
				if attempts++; attempts < enough {
					return errors.New("not yet")
				}
				return nil
			}
		}
		if err := Retry(t.Context(), time.Second, "it does not work", try(5)); err != nil || attempts != 5 {
			t.Errorf("%v after %d attempts", err, attempts)
		}
		var discarded *lockstep.Inconclusive
		if err := Retry(t.Context(), time.Second, "it does not work", try(50)); !errors.As(err, &discarded) ||
			err.Error() != "it does not work within 1s: not yet" {
			t.Errorf("%v after %d attempts", err, attempts)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Retry(ctx, time.Second, "it does not work", try(50)); !errors.Is(err, context.Canceled) ||
			attempts != 1 {
			t.Errorf("%v after %d attempts", err, attempts)
		}
	})
}
