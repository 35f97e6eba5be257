//go:build lockstep_points

package hashicorpraft

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/strategy"
)

// Runs with preemptions in the library are the same in two processes, whatever the processes did before, and unlike
// those without.
func TestPreemptionRepeats(t *testing.T) {
	t.Setenv("LOCKSTEP_PROCESSES", "2")
	processes.Same(t, func(process int) (all []string) {
		plan := lockstep.Plan{Spec: Safety, Seed: uint64(1000 + process),
			Strategy: strategy.Walk{Deliver: 20, Wait: 10, Request: 3, Crash: 1, Restart: 2, Steps: 200}}
		options := bubble.FaultOptions{Preempt: 0.01, PreemptTime: bubble.Delay{Max: 20 * time.Millisecond}}
		for _, o := range []bubble.FaultOptions{{}, options} {
			plan.System = Cluster{FaultOptions: o}
			if _, err := bubble.Digests(t.Context(), plan, process); err != nil {
				t.Fatal(err)
			}
			plan.Seed = 5
			digests, err := bubble.Digests(t.Context(), plan, 4)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, digests...)
		}
		for i, without := range all[:4] {
			if without == all[4+i] {
				t.Errorf("run %d is the same with preemptions and without", i)
			}
		}
		return all
	})
}

// The table shows how many runs each of some seeds needs to find heartbeats of a former leader, without preemption and
// with shares of it.
//
//	LOCKSTEP_SEEDS=1..20 LOCKSTEP_SHARES=0,0.001 LOCKSTEP_TIME=0s..20ms \
//	  lockstep go test -preempt github.com/hashicorp/raft -run PreemptionTable -v .
func TestPreemptionTable(t *testing.T) {
	first, last, _ := strings.Cut(os.Getenv("LOCKSTEP_SEEDS"), "..")
	from, err := strconv.ParseUint(first, 10, 64)
	to, err2 := strconv.ParseUint(last, 10, 64)
	if err != nil || err2 != nil {
		t.Skip("LOCKSTEP_SEEDS has no seeds, like 1..20")
	}
	var long bubble.Delay
	if text := os.Getenv("LOCKSTEP_TIME"); text != "" {
		if err := long.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	h := hunts["pipeline"]
	for _, text := range strings.Split(os.Getenv("LOCKSTEP_SHARES"), ",") {
		share, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		h.cluster.FaultOptions = bubble.FaultOptions{Preempt: share, PreemptTime: long}
		for seed := from; seed <= to; seed++ {
			begin := time.Now()
			r := enginetest.Explore(t, lockstep.Plan{System: h.cluster, Strategy: h.strategy, Spec: h.spec, Runs: 200,
				Settle: h.settle, Seed: seed})
			found := "nothing"
			if f := r.First(); f != nil {
				found = f.Finding.Property
			}
			t.Logf("share %v seed %d: %d runs, %s, %v, %v", share, seed, r.Runs, found, r.Problems(),
				time.Since(begin).Round(100*time.Millisecond))
		}
	}
}
