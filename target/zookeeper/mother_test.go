package zookeeper

import (
	"context"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/outside"
	"github.com/lockstep-go/lockstep/internal/processes"
	"github.com/lockstep-go/lockstep/strategy"
)

func TestMain(m *testing.M) {
	processes.Mother(m, func(folder string) error {
		_, err := lockstep.Explore(context.Background(), lockstep.Plan{System: Cluster{}, Spec: Properties, Settle: Settle, Workers: 1, Runs: 1 << 20, Scratch: folder,
			Strategy: strategy.Uniform{Period: 2, Rounds: 6, Isolations: 4, By: strategy.ByRestart}})
		return err
	})
}

// Killed at any moment, a campaign leaves no server and no folder.
func TestKilledAtAnyMoment(t *testing.T) {
	outside.Programs(t, "java", "mvn")
	moments := 2
	if *long {
		moments = 20
	}
	processes.Killed(t, moments, 8*time.Second)
}
