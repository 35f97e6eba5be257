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

// cold is a system whose process must be warmed up for an hour. Without WarmUp the watchdog takes this time for a
// hang.
type cold struct {
	lockstep.System
	announced bool
}

func (c cold) Deploy(ctx context.Context, place *lockstep.Env) (lockstep.Deployment, error) {
	slow := func() error {
		time.Sleep(time.Hour)
		return nil
	}
	if c.announced {
		if err := place.WarmUp(slow); err != nil {
			return nil, err
		}
	} else {
		_ = slow()
	}
	return c.System.Deploy(ctx, place)
}

// Warming up is no hang, however long it takes; any other action that takes so long is one.
func TestWarmUpIsNotWatched(t *testing.T) {
	for _, announced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			paused := time.Duration(0)
			plan := lockstep.Plan{
				System:   cold{toy.Cluster(nil), announced},
				Strategy: strategy.DefaultWalk,
				Runs:     3,
				Workers:  1,
				Watchdog: watchdog.After(time.Minute),
				Warming: func() func() {
					began := time.Now()
					return func() { paused += time.Since(began) }
				},
			}
			r, err := lockstep.Explore(t.Context(), plan)
			hangs := err != nil || r.Verdict() != trace.Pass
			if hangs == announced || announced && paused != time.Hour {
				t.Errorf("announced %v: %v, %v, paused for %v", announced, r, err, paused)
			}
			time.Sleep(10 * time.Hour) // abandoned goroutines end
		})
	}
}

// An error while warming up is one of the deployment.
func TestWarmUpFails(t *testing.T) {
	broken := errors.New("no memory")
	system := toy.Wrapped{System: toy.Cluster(nil), Placed: func(place *lockstep.Env) error {
		return place.WarmUp(func() error { return broken })
	}}
	if _, err := lockstep.Explore(t.Context(),
		lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Runs: 1}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
