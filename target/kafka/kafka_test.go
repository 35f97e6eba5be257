package kafka

import (
	"flag"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/strategy"
)

var (
	long  = flag.Bool("long", false, "make many runs of servers, of all versions")
	tests = flag.Int("tests", 200, "tests of two partitions that are made with -long")
	seed  = flag.Int("seed", 1, "the seed of these tests")
	only  = flag.String("only", "", "only tests with these settings: unclean or safe")
)

// plan returns a campaign with the target's own strategy.
func plan(t *testing.T, c Cluster, runs int) lockstep.Plan {
	t.Helper()
	outside.JVM(t)
	c.StartTimeout = 5 * time.Minute
	s, err := strategy.Parse(Targets[0].Strategy)
	if err != nil {
		t.Fatal(err)
	}
	return lockstep.Plan{
		System:      c,
		Spec:        Properties,
		Strategy:    s,
		Settle:      Settle,
		Workers:     1,
		Runs:        runs,
		Scratch:     t.TempDir(),
		Repetitions: 3,
	}
}

// With safe settings, partitions and crashes lose, move and duplicate no record, and nothing is left of the servers.
func TestSafe(t *testing.T) {
	versions, runs := []string{""}, 1
	if *long {
		versions, runs = []string{"3.9.2", "4.3.1"}, *tests/5
	}
	for _, version := range versions {
		enginetest.Passes(t, version, plan(t, Cluster{Version: version}, runs))
	}
}
