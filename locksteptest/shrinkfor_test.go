package locksteptest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/locksteptest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// Shrinking a failing run ends after a time limit with the smallest run so far, and reports its progress in the
// meantime.
func TestShrinkFor(t *testing.T) {
	t.Chdir(t.TempDir())
	slow := toy.Wrapped{
		System: smr.Cluster{Nodes: 3, Bug: true},
		Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
			time.Sleep(100 * time.Microsecond)
			return d.Do(ctx, s, out)
		},
	}
	plan := lockstep.Plan{System: slow, Strategy: strategy.DefaultWalk, Spec: smr.Prefix, Runs: 200, Workers: 2}
	var progress strings.Builder
	defer locksteptest.WriteProgress(&progress, 200*time.Millisecond)()
	t.Setenv("LOCKSTEP_SHRINKFOR", "1s")
	began := time.Now()
	f := inTest(&enginetest.FakeT{TestName: "TestSlow"}, plan)
	if text := f.Text.String(); !f.Bad || !strings.Contains(text, "shrunk from") ||
		!strings.Contains(text, "FAIL prefix") {
		t.Errorf("the run is not shrunk:\n%s", text)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if lines := strings.Count(progress.String(), "\n"); lines < 2 || lines > 6 ||
		!strings.Contains(progress.String(), "of at most 1s, ") {
		t.Errorf("%d lines were written in a second:\n%s", lines, progress.String())
	}
	t.Setenv("LOCKSTEP_SHRINKFOR", "soon")
	if f := inTest(&enginetest.FakeT{TestName: "TestSoon"}, plan); !strings.Contains(
		f.Text.String(),
		`the time for shrinking "soon" is not a time such as 30s`,
	) {
		t.Error(f.Text.String())
	}
}
