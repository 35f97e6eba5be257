package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// endlessVariable makes the test's program run a campaign that fails sometimes and never ends.
const endlessVariable = "LOCKSTEP_TEST_ENDLESS"

// endless is a system with a bug. Its description has the value of Serial.
type endless struct {
	smr.Cluster
	serial bool
}

func (e endless) Describe() (lockstep.Info, error) {
	info, err := e.Cluster.Describe()
	info.Name, info.Options, info.Serial = "endless", nil, e.serial
	return info, err
}

// Deploy slows the system down, so that the campaign does not fill the disk.
func (e endless) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	d, err := e.Cluster.Deploy(ctx, p)
	return slow{d}, err
}

type slow struct{ lockstep.Deployment }

func (s slow) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	time.Sleep(100 * time.Microsecond)
	return s.Deployment.Reset(ctx, seed, out)
}

// endlessApp is the command line of that program.
func endlessApp() App {
	return App{Targets: []target.Target{target.Of("endless", "one with a bug",
		endless{smr.Cluster{Nodes: 3, Bug: true}, os.Getenv(endlessVariable) == "serial"}, smr.Prefix)}}
}

// The findings of a campaign with --keep-going are on disk while the campaign continues, so a kill loses none of them.
// The campaign stores no more findings than it keeps.
func TestFindingsSurviveAKill(t *testing.T) {
	for _, kind := range []string{"parallel", "serial"} { // in one process, and in several processes
		t.Run(kind, func(t *testing.T) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, self, "run", "endless", "--strategy", "walk", "--keep-going", "--runs",
				"1000000000", "--workers", "2", "--out", "out")
			c.Dir, c.Env = dir, append(os.Environ(), endlessVariable+"="+kind)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			stored := func() []string {
				files, _ := filepath.Glob(filepath.Join(dir, "out", "*.trace"))
				return files
			}
			for len(stored()) < 5 && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			before := stored()
			if err := c.Process.Kill(); err != nil { // the same as kill -9
				t.Errorf("the campaign ended: %v", err)
			}
			_ = c.Wait() // an error is expected: the process was killed
			if len(before) < 5 {
				t.Fatalf("%d findings were stored while the campaign was running", len(before))
			}
			after := stored()
			if len(after) < len(before) || len(after) > lockstep.DefaultKeep {
				t.Errorf("%d findings are stored, %d before it was killed", len(after), len(before))
			}
			for _, file := range after {
				if tr, err := trace.ReadFile(file); err != nil || tr.Outcome.Finding == nil ||
					tr.Header.Target != "endless" {
					t.Errorf("%s: %v", file, err)
				}
			}
		})
	}
}

// A campaign that ends leaves the usual files: those of the findings that it keeps, each once.
func TestFindingsAreStoredOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, errOut bytes.Buffer
	app := App{Targets: []target.Target{target.Of("smr-bug", "one with a bug", smr.Cluster{Nodes: 3, Bug: true},
		smr.Prefix)}}
	if status := app.execute(t.Context(), "lockstep", []string{"run", "smr-bug", "--keep-going", "--runs", "3000",
		"--seed", "1", "--no-shrink"}, &out, &errOut); status != statusFinding {
		t.Fatalf("status %d: %s", status, errOut.String())
	}
	files, _ := filepath.Glob("lockstep-out/*.trace")
	result, err := lockstep.Explore(t.Context(), lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true},
		Strategy: strategy.DefaultUniform, Spec: smr.Prefix, Runs: 3000, Seed: 1, KeepGoing: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(result.Failures) || len(files) < 3 {
		t.Errorf("%d files, %d findings", len(files), len(result.Failures))
	}
	for _, f := range result.Failures {
		if _, err := os.Stat(fmt.Sprintf("lockstep-out/smr-bug-prefix-seed1-run%d.trace", f.Run)); err != nil {
			t.Error(err)
		}
	}
}
