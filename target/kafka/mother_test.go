package kafka

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
)

func TestMain(m *testing.M) { servertest.Mother(m, Targets[0]) }

// A campaign that is killed at any moment leaves no server and no directory.
func TestKilledAtAnyMoment(t *testing.T) {
	outside.JVM(t)
	moments := 1
	if *long {
		moments = 20
	}
	processes.Killed(t, moments, 15*time.Second)
}
