package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/smr"
)

// looping is the replicated log with a node that hangs: the first node that gets a message of a certain round never
// returns.
type looping struct{ smr.Cluster }

var untilTheEnd = make(chan struct{})

func (l looping) Describe() (lockstep.Info, error) {
	info, err := l.Cluster.Describe()
	info.Name, info.Options = "looping", nil
	return info, err
}

func (l looping) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	d, err := l.Cluster.Deploy(ctx, p)
	return &loopingDeployment{d}, err
}

type loopingDeployment struct{ lockstep.Deployment }

func (l *loopingDeployment) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if s.Msg != 0 && out.Message(s.Msg).Type == "Propose" {
		<-untilTheEnd
	}
	return l.Deployment.Do(ctx, s, out)
}

// A node that never returns from a step is a finding, with its stack and its trace.
func TestHang(t *testing.T) {
	tier.NotShort(t)
	t.Chdir(t.TempDir())
	app := App{
		Targets: []target.Target{target.Of("looping", "one that hangs", looping{smr.Cluster{Nodes: 3}}, smr.Prefix)},
	}
	var out, errOut bytes.Buffer
	status := app.execute(context.Background(), "lockstep",
		[]string{"run", "looping", "--step-timeout", "100ms", "--workers", "1", "--closure"}, &out, &errOut)
	if status != statusFinding {
		t.Errorf("status %d", status)
	}
	for _, text := range []string{"FAIL hang in 1 of 1 run, first in run 0: step ", "Propose", " does not end",
		"loopingDeployment", "hang_test.go:",
		"warning: goroutines that hang and cannot be stopped before the program ends: 2",
		"replay it with: lockstep replay lockstep-out/looping-hang-seed0-run0.trace"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("it does not say %q", text)
		}
	}
	if !strings.Contains(errOut.String(), "not shrunk: the run hangs, and so would its repetitions") {
		t.Errorf("standard error: %s", errOut.String())
	}
	found, _ := filepath.Glob("lockstep-out/*.trace")
	if len(found) != 1 {
		t.Fatalf("stored %q", found)
	}
	var refused bytes.Buffer
	if status := app.execute(context.Background(), "lockstep", []string{"shrink", found[0]}, &out,
		&refused); status != statusFailure ||
		!strings.Contains(refused.String(), "it cannot be shrunk") {
		t.Errorf("shrink: status %d, %s", status, refused.String())
	}
	if t.Failed() {
		t.Logf("%s%s", out.String(), errOut.String())
	}
}
