package remote_test

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
)

// On one processor runs are what they are on many.
func TestOneProcessor(t *testing.T) {
	plan := lockstep.Plan{System: simulated(), Spec: oneLeader, Strategy: crashes, Runs: 100, Steps: 60, Workers: 2, KeepGoing: true}
	here, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	system := processes("elector")
	system.OneProcessor = true
	plan.System = system
	there, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if here.Digest != there.Digest {
		t.Errorf("digest %v in sim, %v on one processor", here.Digest, there.Digest)
	}
}

// A thread that waits for a silent replica is woken when its time is over.
func TestOneProcessorSilence(t *testing.T) {
	t.Setenv("LOCKSTEP_TEST_LIE", "silence")
	system := processes("liar")
	system.OneProcessor, system.Limits.Patience = true, 300*time.Millisecond
	result, err := lockstep.Explore(t.Context(), lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Runs: 2, Steps: 5, Workers: 1})
	if err != nil || result.Worthless != 2 {
		t.Errorf("%+v, %v", result, err)
	}
}
