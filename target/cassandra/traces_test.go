package cassandra

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
)

// recorded is CASSANDRA-6023 as sampling finds it in 2.0.0.
func recorded(t *testing.T) servertest.Recorded {
	return servertest.Recorded{
		Name: "cassandra-6023-2.0.0",
		Plan: servertest.Plan(t, Targets[0], 1, "uniform:period=6,isolations=10,rounds=24,sampler=paper",
			"change5985=true", "timeout=500ms", "start-timeout=5m"),
		Run:   73,
		Shows: servertest.Violates("once"),
	}
}

// With -args -store . the test records the run.
func TestStore(t *testing.T) { servertest.Store(t, recorded(t)) }

// The recorded run shows the defect again.
func TestReplay(t *testing.T) { servertest.Replay(t, ".", recorded(t)) }
