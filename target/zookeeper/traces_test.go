package zookeeper

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
)

// recorded is the divergence of 3.5.8 that sampling finds.
func recorded(t *testing.T) servertest.Recorded {
	return servertest.Recorded{
		Name: "divergence-3.5.8",
		Plan: servertest.Plan(t, Targets[0], 1, "uniform:period=2,isolations=8,rounds=6,by=restart,sampler=paper",
			"version=3.5.8", "warm=true", "start-timeout=5m"),
		Run:   67,
		Shows: servertest.Violates("equal-data"),
	}
}

// With -args -store . the test records the run.
func TestStore(t *testing.T) { servertest.Store(t, recorded(t)) }

// The recorded run shows the divergence again.
func TestReplay(t *testing.T) { servertest.Replay(t, ".", recorded(t)) }
