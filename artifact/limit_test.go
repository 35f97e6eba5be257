package artifact_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/trace"
)

// described is a system that is only described.
type described lockstep.Info

func (d described) Describe() (lockstep.Info, error) { return lockstep.Info(d), nil }

func (described) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	panic("never deployed")
}

// The time limit of shrinking depends on how a system repeats itself, and on whether its time passes. A given limit
// counts for all, and a negative one means none.
func TestLimit(t *testing.T) {
	steps := described{Determinism: lockstep.Deterministic}
	timed := described{Determinism: lockstep.Deterministic, Supports: trace.KindsOf(trace.Wait)}
	wall := described{Determinism: lockstep.BestEffort, Supports: trace.KindsOf(trace.Wait)}
	for _, c := range []struct {
		system     described
		most, want time.Duration
	}{
		{steps, 0, 0}, {timed, 0, artifact.DefaultShrinkTimed}, {wall, 0, artifact.DefaultShrinkFor},
		{steps, time.Second, time.Second}, {timed, time.Second, time.Second}, {timed, -1, 0}, {wall, -1, 0},
	} {
		if got := artifact.Limit(c.system, c.most); got != c.want {
			t.Errorf("%v with %v: %v, not %v", c.system.Determinism, c.most, got, c.want)
		}
	}
}
