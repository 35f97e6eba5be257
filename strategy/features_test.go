package strategy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// prefixes observes how far the lock got: its features are the lengths of the ascending prefix that a run reached.
type prefixes struct{}

func (prefixes) New(lockstep.Info) lockstep.Watcher { return &prefixWatcher{} }
func (prefixes) Collect(int, any)                   {}

type prefixWatcher struct {
	got  int
	list []uint64
}

func (p *prefixWatcher) Reset() { p.got, p.list = 0, p.list[:0] }

func (p *prefixWatcher) Observe(run *lockstep.Run) {
	if run.Last().Kind != trace.Deliver {
		return
	}
	m := run.Message(run.Last().Msg)
	if p.got == len(p.list) && m.Type == fmt.Sprint(p.got) {
		p.list = append(p.list, uint64(p.got))
	}
	p.got++
}

func (p *prefixWatcher) Noted() any { return nil }

func (p *prefixWatcher) Features(kind string) ([]uint64, bool) {
	return p.list, kind == lockstep.ModelFeatures
}

// prefixSpec offers the same by its monitor.
type prefixSpec struct{ noFinding }

func (prefixSpec) Properties() []string               { return nil }
func (prefixSpec) New(lockstep.Info) lockstep.Monitor { return &prefixMonitor{} }

type prefixMonitor struct {
	noFinding
	prefixWatcher
}

func (p *prefixMonitor) Reset() { p.prefixWatcher.Reset() }
func (p *prefixMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	p.Observe(run)
	return nil
}

// TestGuidedByFeatures checks that a campaign learns from what an observer or the spec offers: one order of 8! is found
// so, and not without learning. Findings can be repeated, and a campaign is the same when it is repeated.
func TestGuidedByFeatures(t *testing.T) {
	guided := strategy.Guided{Inner: strategy.Inner{Strategy: strategy.POS{}}, Fresh: 0.1, Keep: 100,
		By: strategy.ByModel}
	plan := lockstep.Plan{System: combination(8, false), Strategy: guided, Runs: 3000}
	watched, checked, blind := plan, plan, plan
	watched.Spec, watched.Observers = closed{}, []lockstep.Observer{prefixes{}}
	checked.Spec = spec.All(closed{}, spec.All(prefixSpec{}))
	blind.Spec, blind.Strategy = closed{}, strategy.POS{}
	for _, c := range []struct {
		name        string
		plan        lockstep.Plan
		least, most int
	}{{"an observer", watched, 9, 10}, {"the spec", checked, 9, 10}, {"nothing", blind, 0, 2}} {
		opened := 0
		for c.plan.Seed = range uint64(10) {
			r := enginetest.Explore(t, c.plan)
			if again := enginetest.Explore(t, c.plan); again.Digest != r.Digest || again.Runs != r.Runs {
				t.Errorf("%s, seed %d: digest %x of %d runs, then %x of %d", c.name, c.plan.Seed, r.Digest, r.Runs,
					again.Digest, again.Runs)
			}
			if f := r.First(); f != nil {
				opened++
				if f.Flaky != "" {
					t.Errorf("%s, seed %d: %s", c.name, c.plan.Seed, f.Flaky)
				}
			}
		}
		t.Logf("features of %s: %d of 10 campaigns opened the lock", c.name, opened)
		if opened < c.least || opened > c.most {
			t.Errorf("features of %s: %d of 10 campaigns opened the lock, want %d to %d", c.name, opened, c.least, c.most)
		}
	}
}

// TestLineagesByFeatures checks that lineages learn from features too, also from those of the last run of an epoch,
// which is its only one here, and that the result does not depend on the workers.
func TestLineagesByFeatures(t *testing.T) {
	for _, epoch := range []int{1, 40} {
		opened := 0
		for seed := range uint64(5) {
			plan := lockstep.Plan{System: combination(7, false), Spec: closed{}, Seed: seed, Runs: 3000, Workers: 1,
				Observers: []lockstep.Observer{prefixes{}},
				Strategy: strategy.Guided{Inner: strategy.Inner{Strategy: strategy.POS{}}, Fresh: 0.1, Keep: 100,
					By: strategy.ByModel, Lineages: 3, Epoch: epoch}}
			one := enginetest.Explore(t, plan)
			plan.Workers = 3
			several := enginetest.Explore(t, plan)
			if one.Digest != several.Digest || one.Runs != several.Runs {
				t.Errorf("epoch %d, seed %d: digest %x of %d runs with one worker, %x of %d with three", epoch, seed,
					one.Digest, one.Runs, several.Digest, several.Runs)
			}
			if one.First() != nil {
				opened++
			}
		}
		if opened < 4 {
			t.Errorf("epoch %d: %d of 5 campaigns opened the lock", epoch, opened)
		}
	}
}

// TestFeaturesMissing checks that a plan in which nothing offers the features is refused.
func TestFeaturesMissing(t *testing.T) {
	guided := strategy.DefaultGuided
	guided.By = strategy.ByCode
	_, err := lockstep.Explore(t.Context(), lockstep.Plan{System: combination(4, false), Strategy: guided,
		Spec: prefixSpec{}, Observers: []lockstep.Observer{prefixes{}}})
	if err == nil || !strings.Contains(err.Error(), `by=code learns from features of the kind "code", which no observer`) {
		t.Errorf("error %v", err)
	}
}
