package tendermint

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// ASA-2025-002: up to CometBFT 0.38.16 a validator takes a part of a block for another part, so that it can never put the block
// together, and stays at its height for ever. One validator lies at random, and blocks have three parts. That one of the lies is about the number of a
// part was added because of this mistake.
//
//	GOWORK=off go test -modfile versions/v0.38.16.mod -run KnownMistakes -v .
func TestKnownMistakes(t *testing.T) {
	if strings.HasPrefix(Version(), "v0.34.") {
		t.Skip("Tendermint 0.34 has no blocks of several parts here")
	}
	plan := lockstep.Plan{System: Cluster{Block: 140_000}, Strategy: lying, Scenario: Liars(1, 4), Spec: Everything, Runs: 40, Settle: 2500, Seed: 1, Repetitions: 3}
	result := explore(t, plan)
	f := result.First()
	t.Logf("%s: %v %v %v", Version(), result.Verdicts, result.Reasons, f)
	if had := Version() == "v0.38.16"; had != (f != nil && f.Finding.Property == "liveness") || !had && f != nil {
		t.Errorf("%s: found %+v", Version(), f)
	}
	if result.Verdicts[trace.Unknown] > 0 {
		t.Errorf("%v", result.Reasons)
	}
}
