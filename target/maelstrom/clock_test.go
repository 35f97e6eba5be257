package maelstrom_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/target/maelstrom"
	"github.com/lockstep-go/lockstep/trace"
)

// timed is a plan with a program in Python that waits by one kind of call. flags are those of Python. All times are
// minutes, so that runs would take hours by the machine's clock.
func timed(t *testing.T, flags, how string) lockstep.Plan {
	t.Helper()
	return lockstep.Plan{
		System: maelstrom.Cluster{
			Bin:      fmt.Sprintf("%s %s testdata/timed.py %s 60", outside.Program(t, "python3"), flags, how),
			Workload: "broadcast",
			Nodes:    3,
			Topology: "line",
			Requests: 4,
			Pace:     20 * time.Second,
			Timeout:  time.Minute,
		},
		Spec:     maelstrom.Promise,
		Strategy: lossy,
		Settle:   100,
		Seed:     1,
	}
}

// A program in Python has the tester's clock, however it waits: it sends lost messages again in virtual time. Runs are
// the same when they are repeated, with its random numbers.
func TestClock(t *testing.T) {
	tier.NotShort(t)
	for i, how := range []string{"sleep", "event", "select", "poll", "asyncio"} {
		t.Run(how, func(t *testing.T) {
			tier.Some(t, i, 2)
			plan := timed(t, "", how)
			plan.Runs = tier.Pick(1, 3)
			result := enginetest.Explore(t, plan)
			if result.Verdict() != trace.Pass || result.Checked[0].N < plan.Runs {
				t.Fatalf("%v, %v, checked %v", result.Verdicts, result.Reasons, result.Checked)
			}
			again, err := bubble.Repetition(t.Context(), plan, plan.Runs)
			if err != nil || again.Same != again.Of {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}

// A node that restarts has the time of the run, and other random numbers than in its previous incarnation.
func TestClockAfterRestart(t *testing.T) {
	tier.NotShort(t)
	plan := timed(t, "", "event")
	system := plan.System.(maelstrom.Cluster)
	system.Crash = true
	walk := lossy
	walk.Crash, walk.Restart, walk.Wait = 1, 1, 4
	plan.System, plan.Strategy, plan.Spec = system, walk, nil
	again, err := bubble.Repetition(t.Context(), plan, tier.Pick(1, 3))
	if err != nil || again.Same != again.Of {
		t.Errorf("%+v, %v", again, err)
	}
}
