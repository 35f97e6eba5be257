package ratis

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
		s, err := strategy.Parse(Targets[0].Strategy)
		if err != nil {
			return err
		}
		_, err = lockstep.Explore(context.Background(), lockstep.Plan{System: Cluster{}, Spec: Properties, Strategy: s, Settle: Settle, Workers: 1, Runs: 1 << 20, Scratch: folder})
		return err
	})
}

// Killed at any moment, a campaign leaves no server and no folder.
func TestKilledAtAnyMoment(t *testing.T) {
	outside.Programs(t, "java", "mvn")
	if !*long {
		t.Skip("servers take long to start; -long makes it")
	}
	processes.Killed(t, 20, 30*time.Second)
}
