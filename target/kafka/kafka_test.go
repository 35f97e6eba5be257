package kafka

import (
	"flag"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

var (
	long  = flag.Bool("long", false, "make many runs of servers, of all versions")
	tests = flag.Int("tests", 200, "tests of two partitions that are made with -long")
	seed  = flag.Int("seed", 1, "the seed of these tests")
	only  = flag.String("only", "", "only tests with these settings: unclean or safe")
)

// need skips a test where java or mvn is missing, and fails it where everything must be there.
func need(t *testing.T) {
	t.Helper()
	for _, program := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("LOCKSTEP_STRICT") != "" {
				t.Fatal(err)
			}
			t.Skipf("%s is missing; `make setup` installs it", program)
		}
	}
}

// plan is a campaign with the target's own strategy.
func plan(t *testing.T, c Cluster, runs int) lockstep.Plan {
	t.Helper()
	need(t)
	c.Patience = 5 * time.Minute
	s, err := strategy.Parse(Targets[0].Strategy)
	if err != nil {
		t.Fatal(err)
	}
	return lockstep.Plan{System: c, Spec: Properties, Strategy: s, Settle: Settle, Workers: 1, Runs: runs, Scratch: t.TempDir(), Repetitions: 3}
}

// Nothing is lost, moved or doubled by partitions and crashes where settings are safe, and nothing is left of the servers.
func TestSafe(t *testing.T) {
	versions, runs := []string{""}, 1
	if *long {
		versions, runs = []string{"3.9.2", "4.3.1"}, *tests/5
	}
	for _, version := range versions {
		p := plan(t, Cluster{Version: version}, runs)
		result, err := lockstep.Explore(t.Context(), p)
		if err != nil || result.Verdict() != trace.Pass || result.Worthless > 0 {
			t.Errorf("%s: %v, %v, %v", version, result.Verdicts, result.Reasons, err)
			continue
		}
		t.Logf("%s: %d runs, %d steps, judged %v", version, result.Runs, result.Steps, result.Judged)
		if left, err := os.ReadDir(p.Scratch); err != nil || len(left) > 0 {
			t.Errorf("left are %v, %v", left, err)
		}
	}
}
