package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// The first run begins with empty folders; one that resumes has the same servers, and those that were ended again.
func TestResume(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	deployed, err := echoServers{}.Deploy(context.Background(), new(lockstep.Place))
	if err != nil {
		t.Fatal(err)
	}
	d := deployed.(*echoing)
	defer d.Close()
	file := filepath.Join(d.Server(1).Folder, "data")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var pids [2][3]int
	for run := range pids {
		if err := d.Resume(); err != nil {
			t.Fatal(err)
		}
		if err := d.ready(t.Context()); err != nil {
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
		d.Cluster.Do(&lockstep.Step{Kind: trace.Crash, Node: 2}, nil)
		d.Cluster.Do(&lockstep.Step{Kind: trace.Restart, Node: 2}, nil)
		if got := d.Did(); got != trace.KindsOf(trace.Crash, trace.Restart) {
			t.Errorf("did %v", got)
		}
		d.Cluster.Do(&lockstep.Step{Kind: trace.Crash, Node: 2}, nil)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("data was lost", err)
	}
	if pids[0][0] != pids[1][0] || pids[0][2] != pids[1][2] || pids[0][1] == pids[1][1] {
		t.Errorf("the processes were %v", pids)
	}
	if d.Did() != 0 || d.Spent.Starting == 0 {
		t.Errorf("did %v, %v", d.Did(), d.Spent)
	}
}

// A call that is quick is waited for; one that is slow goes on; one that is cancelled has a result, too, and one
// that is forgotten has none.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var calls Calls[string]
		ask := func(client int, takes time.Duration) {
			if err := calls.Ask(t.Context(), client, time.Second, func(ctx context.Context) string {
				if Pass(ctx, takes) != nil {
					return "cancelled"
				}
				return "done"
			}); err != nil {
				t.Error(err)
			}
		}
		var got []string
		look := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got = nil
			calls.Answers(func(client int, result string) { got = append(got, fmt.Sprint(client, " ", result)) })
			if !slices.Equal(got, want) {
				t.Errorf("after %s: %q instead of %q", time.Since(begin), got, want)
			}
		}
		ask(3, 0)
		ask(2, 1500*time.Millisecond)
		ask(1, time.Hour)
		look("2 done", "3 done")
		look()
		if waited := time.Since(begin); waited != 2*time.Second {
			t.Errorf("waited %s", waited)
		}
		calls.Cancel()
		look("1 cancelled")
		ask(1, time.Hour)
		calls.Forget()
		look()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := calls.Ask(ctx, 1, time.Second, func(context.Context) string { return "" }); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		calls.Forget()
	})
}

// What works in the end works; what does not is the run's trouble; who ends the campaign ends it.
func TestInsist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		try := func(enough int) func(context.Context) error {
			tries = 0
			return func(context.Context) error {
				if tries++; tries < enough {
					return errors.New("not yet")
				}
				return nil
			}
		}
		if err := Insist(t.Context(), time.Second, "it does not work", try(5)); err != nil || tries != 5 {
			t.Errorf("%v after %d tries", err, tries)
		}
		var spoilt *lockstep.Worthless
		if err := Insist(t.Context(), time.Second, "it does not work", try(50)); !errors.As(err, &spoilt) || err.Error() != "it does not work within 1s: not yet" {
			t.Errorf("%v after %d tries", err, tries)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Insist(ctx, time.Second, "it does not work", try(50)); !errors.Is(err, context.Canceled) || tries != 1 {
			t.Errorf("%v after %d tries", err, tries)
		}
	})
}
