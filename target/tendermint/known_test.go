package tendermint

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// ASA-2025-002: up to CometBFT 0.38.16 a validator accepts a part of a block as another part. It can then never
// assemble the block, and stays at its height indefinitely. One validator, drawn for each run, gives half of the
// parts that it sends another index, and blocks have three parts. The campaign is tailored to the bug.
//
//	GOWORK=off go test -modfile $(go run ../../internal/modules modfile v0.38.16) -run KnownBugs -v .
func TestKnownBugs(t *testing.T) {
	if libraryName == "tendermint" {
		t.Skip("Tendermint has no blocks of several parts here")
	}
	plan := lockstep.Plan{
		System:      Cluster{Block: 140_000},
		Strategy:    byzantineWalk,
		Scenario:    misnaming(),
		Spec:        Everything,
		Runs:        20,
		Settle:      2500,
		Seed:        1,
		Repetitions: 3,
	}
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

// misnaming makes one validator randomly send half of the parts of a block under another index.
func misnaming() *Scenario {
	sc := New("misnaming").Faults(lockstep.Budget{Byzantine: 1, Losses: lockstep.Unlimited})
	faulty := sc.Pick("faulty", 1)
	sc.If(FromGroup(faulty), Type(BlockPart), WithProbability(0.5)).Named("misname").
		Then(forge("misname", func(f Forger, _ *rand.Rand, _ *lockstep.Run, _ lockstep.Node, m *Message) (*Message,
			error) {
			return f.Misname(m)
		}))
	return sc
}

var halts = flag.Int("halts", 0, "make so many runs with a validator that votes nil")

// Tendermint #3302, up to 0.30.0: a validator begins to wait for more precommits and then decides. It keeps the
// waiting state in the next height, if it receives the proposal there before it begins the round. It then does not
// wait for precommits, and stays in round 0. If two of four validators do so, no validator decides again. One
// validator, drawn for each run, mostly votes nil.
//
//	GOWORK=off go test -modfile $(go run ../../internal/modules modfile v0.30.0) -tags v0.30 -run Halts -v . -halts 100
func TestHalts(t *testing.T) {
	if *halts == 0 || !strings.HasPrefix(Version(), "v0.30.") {
		t.Skip("-halts says how many runs of Tendermint 0.30")
	}
	walk := strategy.Walk{Deliver: 20, Wait: 1, Steps: 3000}
	result := explore(
		t,
		lockstep.Plan{
			System:       Cluster{},
			Strategy:     walk,
			Scenario:     NilVoters(1),
			Spec:         Everything,
			Runs:         *halts,
			Settle:       4000,
			Seed:         1,
			Repetitions:  3,
			AllowVacuous: true,
		},
	)
	f := result.First()
	t.Logf("%s: %v %v in %d runs: %v", Version(), result.Verdicts, result.Reasons, result.Runs, f)
	if had := Version() == "v0.30.0"; had != (f != nil && f.Finding.Property == "liveness") || !had && f != nil {
		t.Errorf("%s: found %+v", Version(), f)
	}
}
