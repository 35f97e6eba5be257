package locksteptest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/locksteptest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// Shrinking a failing run ends after a time limit with the smallest run so far, and reports its progress in the
// meantime. Time is virtual, so the load of the machine does not matter.
func TestShrinkFor(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("LOCKSTEP_SHRINKFOR", "1s")
	synctest.Test(t, shrinksForASecond)
	t.Setenv("LOCKSTEP_SHRINKFOR", "soon")
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix,
		Runs: 200, Workers: 2}
	if f := inTest(&enginetest.FakeT{TestName: "TestSoon"}, plan); !strings.Contains(
		f.Text.String(),
		`the time for shrinking "soon" is not a time such as 30s`,
	) {
		t.Error(f.Text.String())
	}
}

func shrinksForASecond(t *testing.T) {
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
	f := inTest(&enginetest.FakeT{TestName: "TestSlow"}, plan)
	if text := f.Text.String(); !f.Bad || !strings.Contains(text, "shrunk from") ||
		!strings.Contains(text, "FAIL prefix") {
		t.Errorf("the run is not shrunk:\n%s", text)
	}
	if lines := strings.Count(progress.String(), "\n"); lines < 3 || lines > 5 ||
		!strings.Contains(progress.String(), "of at most 1s, ") {
		t.Errorf("%d lines were printed in a second:\n%s", lines, progress.String())
	}
}
