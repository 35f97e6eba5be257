//go:build lockstep_overlay

package hashicorpraft

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
)

// digestsEnv asks TestExactly to tell the digests of its campaigns.
const digestsEnv = "LOCKSTEP_DIGESTS"

// Built with the overlay, runs are the same in every process: 100 seeds for each strategy.
func TestExactly(t *testing.T) {
	if os.Getenv(digestsEnv) != "" {
		for _, s := range strategies() {
			result := explore(t, lockstep.Plan{System: Cluster{Slow: 0.1}, Strategy: s, Spec: Safety, Runs: 100, Seed: 3})
			fmt.Printf("digest %s %x %v\n", s, result.Digest, result.Verdicts)
		}
		return
	}
	first := ""
	for process := range 4 {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "TestExactly$")
		c.Env = append(os.Environ(), digestsEnv+"=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var digests []string
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "digest ") {
				digests = append(digests, line)
			}
		}
		text := strings.Join(digests, "")
		if len(digests) != len(strategies()) || process > 0 && text != first {
			t.Errorf("process %d:\n%swas:\n%s", process, text, first)
		}
		first = text
	}
	t.Log(first)
}
