package remote_test

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
)

// Runs on many CPUs equal those on one.
func TestSpread(t *testing.T) {
	plan := lockstep.Plan{
		System:    simulated(),
		Spec:      oneLeader,
		Strategy:  crashes,
		Runs:      100,
		Steps:     60,
		Workers:   2,
		KeepGoing: true,
	}
	here, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	system := processes("elector")
	system.Spread = true
	plan.System = system
	there, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if here.Digest != there.Digest {
		t.Errorf("digest %v in sim, %v on all processors", here.Digest, there.Digest)
	}
}

// A wait for a silent replica ends at its timeout, on a thread as well as in a goroutine.
func TestSilence(t *testing.T) {
	t.Setenv("LOCKSTEP_TEST_FAULT", "silence")
	for _, spread := range []bool{false, true} {
		system := processes("Byzantine node")
		system.Spread, system.Limits.Timeout = spread, 300*time.Millisecond
		result, err := lockstep.Explore(t.Context(),
			lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Runs: 2, Steps: 5, Workers: 1})
		if err != nil || result.Inconclusive != 2 {
			t.Errorf("spread %v: %+v, %v", spread, result, err)
		}
	}
}
