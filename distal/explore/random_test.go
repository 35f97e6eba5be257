package explore_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/internal/testkit/odds"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestRandomRate compares the chance of finding the bug of Paxos in five phases with figures from an independent
// hand-written model: one run in 3658, 590, 174 and 97 for a chance of delivery of 0.5, 0.6, 0.7 and 0.8.
func TestRandomRate(t *testing.T) {
	tier.NotShort(t)
	m, _ := example(t, "paxos_buggy", distal.Options{Network: "own"})
	for _, c := range []struct {
		deliver float64
		oneIn   float64
		runs    int
	}{{0.5, 3658, 200_000}, {0.6, 590, 60_000}, {0.7, 174, 30_000}, {0.8, 97, 30_000}} {
		r, err := explore.Random(m, explore.RandomOptions{Phases: 5, Runs: c.runs, Deliver: c.deliver, Seed: 1, KeepOn: true})
		if err != nil {
			t.Fatal(err)
		}
		// Both figures are estimates; the margin of ours is 7.5 standard deviations, that of theirs ten per cent.
		want := float64(c.runs) / c.oneIn
		if slack := odds.Sigmas*math.Sqrt(want) + want/10; math.Abs(float64(r.Violations)-want) > slack {
			t.Errorf("deliver %g: %d violations in %d runs, want %.0f within %.0f", c.deliver, r.Violations, c.runs, want, slack)
		}
	}
}

// TestRandomDeterministic demands the same result for the same seed, and the replayed trace to end in the violation.
func TestRandomDeterministic(t *testing.T) {
	m, _ := example(t, "paxos_buggy", distal.Options{})
	opt := explore.RandomOptions{Phases: 5, Runs: 10_000, Seed: 3}
	a, _ := explore.Random(m, opt)
	b, _ := explore.Random(m, opt)
	a.Violation.Trace, b.Violation.Trace = nil, nil
	if !reflect.DeepEqual(a, b) || a.Verdict != explore.Fail || a.FirstRun != a.Runs {
		t.Errorf("%+v\n%+v", a, b)
	}
	opt.Seed = 4
	if c, _ := explore.Random(m, opt); c.FirstRun == a.FirstRun && c.Rounds == a.Rounds {
		t.Error("another seed gives the same runs")
	}
}

// TestRandomWithinExhaustive demands that random runs find nothing where there is nothing, and no violation earlier
// than the shortest one.
func TestRandomWithinExhaustive(t *testing.T) {
	for seed, p := range corpus.Generated(60) {
		m, phases := load(t, p.Source, distal.Options{})
		full, err := explore.Exhaustive(m, explore.Options{Phases: phases})
		if err != nil {
			t.Fatal(err)
		}
		r, err := explore.Random(m, explore.RandomOptions{Phases: phases, Runs: 300, Seed: uint64(seed), KeepOn: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Violations > 0 && (full.Violation == nil || r.Violation.Round < full.Violation.Round) {
			t.Errorf("%s: random search finds %+v, exhaustive search %+v", p.Name, r.Violation, full.Violation)
		}
	}
}

// TestRandomNetworks demands that random deliveries respect the network, by what the programs need it for.
func TestRandomNetworks(t *testing.T) {
	for _, name := range []string{"benor_fixed", "uniformvoting_fixed", "twophase_fixed"} {
		m, _ := example(t, name, distal.Options{})
		r, _ := explore.Random(m, explore.RandomOptions{Phases: 4, Runs: 3000, Deliver: 0.3, Seed: 5})
		if r.Verdict != explore.Unknown || r.Runs != 3000 {
			t.Errorf("%s under network %s: %+v", name, m.Network.Name, r.Violation)
		}
		if name == "twophase_fixed" {
			continue
		}
		m, _ = example(t, name, distal.Options{Network: "any"})
		if r, _ := explore.Random(m, explore.RandomOptions{Phases: 4, Runs: 3000, Deliver: 0.6,
			Seed: 5}); r.Verdict != explore.Fail {
			t.Errorf("%s under network any: nothing found", name)
		}
	}
}

// TestRandomMemory wants the same runs when everything computed is forgotten now and then.
func TestRandomMemory(t *testing.T) {
	m, _ := example(t, "paxos_buggy", distal.Options{})
	opt := explore.RandomOptions{Phases: 5, Runs: 5000, Seed: 9, KeepOn: true}
	plain, _ := explore.Random(m, opt)
	opt.Memory = 1
	forgetful, _ := explore.Random(m, opt)
	plain.Violation.Trace, forgetful.Violation.Trace = nil, nil
	plain.Violation.Start, forgetful.Violation.Start = nil, nil
	if !reflect.DeepEqual(plain, forgetful) || plain.Violations < 10 {
		t.Errorf("%+v\n%+v", plain, forgetful)
	}
}
