package lockstep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
	"github.com/lockstep-go/lockstep/watchdog"
)

// cold is a system whose process must be warmed up for an hour; where it is not told that this is what takes so long, it
// hangs.
type cold struct {
	lockstep.System
	told bool
}

func (c cold) Deploy(ctx context.Context, place *lockstep.Place) (lockstep.Deployment, error) {
	slow := func() error {
		time.Sleep(time.Hour)
		return nil
	}
	if c.told {
		if err := place.WarmUp(slow); err != nil {
			return nil, err
		}
	} else {
		_ = slow()
	}
	return c.System.Deploy(ctx, place)
}

// Warming up does not hang, however long it takes; anything else that takes so long does.
func TestWarmUpIsNotWatched(t *testing.T) {
	for _, told := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			paused := time.Duration(0)
			plan := lockstep.Plan{
				System:   cold{toy.Cluster(nil), told},
				Strategy: strategy.DefaultWalk,
				Runs:     3,
				Workers:  1,
				Watch:    watchdog.After(time.Minute),
				Warming: func() func() {
					began := time.Now()
					return func() { paused += time.Since(began) }
				},
			}
			r, err := lockstep.Explore(t.Context(), plan)
			hangs := err != nil || r.Verdict() != trace.Pass
			if hangs == told || told && paused != time.Hour {
				t.Errorf("told %v: %v, %v, paused for %v", told, r, err, paused)
			}
			time.Sleep(10 * time.Hour) // goroutines that were left end
		})
	}
}

// An error while warming up is one of the deployment.
func TestWarmUpFails(t *testing.T) {
	broken := errors.New("no memory")
	system := toy.Wrapped{System: toy.Cluster(nil), Placed: func(place *lockstep.Place) error {
		return place.WarmUp(func() error { return broken })
	}}
	if _, err := lockstep.Explore(t.Context(), lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Runs: 1}); !errors.Is(
		err,
		broken,
	) {
		t.Errorf("%v", err)
	}
}
