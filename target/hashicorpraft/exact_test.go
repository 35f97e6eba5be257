//go:build lockstep_overlay

package hashicorpraft

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
)

// digestsEnv asks TestExactly to tell the digests of its campaigns.
const digestsEnv = "LOCKSTEP_DIGESTS"

// Built with the overlay, runs are the same in every process: 100 seeds for each strategy, by our
// transport and by the library's over TCP.
func TestExactly(t *testing.T) {
	if os.Getenv(digestsEnv) != "" {
		for _, tcp := range []bool{false, true} {
			for _, s := range strategies() {
				result := explore(t, lockstep.Plan{System: Cluster{Slow: 0.1, TCP: tcp}, Strategy: s, Spec: Safety, Runs: 100, Seed: 3})
				fmt.Printf("digest tcp=%v %s %x %v\n", tcp, s, result.Digest, result.Verdicts)
			}
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
		if len(digests) != 2*len(strategies()) || process > 0 && text != first {
			t.Errorf("process %d:\n%swas:\n%s", process, text, first)
		}
		first = text
	}
	t.Log(first)
}

// The library's own TCP transport: a leader is elected, requests are answered in spite of
// faults, nothing is left behind, and runs repeat byte for byte.
func TestTCP(t *testing.T) {
	answered := 0
	count := spec.OnEvent("answered", spec.EventReturn, func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
		answered++
		return nil
	})
	for _, s := range strategies() {
		answered = 0
		plan := lockstep.Plan{System: Cluster{TCP: true}, Strategy: s, Spec: spec.All(Everything, count), Runs: 30, Settle: 300, Seed: 2}
		result := explore(t, plan)
		if f := result.First(); f != nil {
			t.Errorf("%s: %s\n%s", s, f.Finding, f.Finding.Stack)
		}
		r, err := bubble.Repetition(t.Context(), plan, 30)
		if err != nil || r.Same != r.Of {
			t.Errorf("%s: %d of %d runs repeated, %v", s, r.Same, r.Of, err)
		}
		t.Logf("%s: %d answers, %v, %d messages; %d of %d repeated", s, answered, result.Verdicts, result.Messages, r.Same, r.Of)
	}
}
