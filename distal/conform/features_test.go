package conform_test

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/conform"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/raft"
)

// featured collects the features of the runs of a spec.
type featured struct {
	*conform.Spec
	of *[][]uint64
}

func (f featured) New(info lockstep.Info) lockstep.Monitor {
	return &featuredMonitor{f.Spec.New(info), f.of}
}

type featuredMonitor struct {
	lockstep.Monitor
	of *[][]uint64
}

func (m *featuredMonitor) Features(kind string) ([]uint64, bool) {
	return m.Monitor.(lockstep.FeatureSource).Features(kind)
}

func (m *featuredMonitor) Conclude(draw bool) lockstep.Conclusion {
	list, _ := m.Features(lockstep.ModelFeatures)
	*m.of = append(*m.of, slices.Clone(list))
	return m.Monitor.Conclude(draw)
}

// TestFeatures checks that what a run reached in the model does not depend on the runs before it, though the states of
// the model are numbered as they come, and that a model offers nothing else.
func TestFeatures(t *testing.T) {
	plan := lockstep.Plan{System: raft.Cluster{Nodes: 3, Requests: 3}, Strategy: everything(300), Runs: 8, Seed: 5,
		Workers: 1}
	var together, alone [][]uint64
	plan.Spec = featured{model(t, "raftlog_fixed", conform.Options{}), &together}
	enginetest.Explore(t, plan)
	plan.Spec = featured{model(t, "raftlog_fixed", conform.Options{}), &alone}
	for run := range plan.Runs {
		if _, err := lockstep.Record(t.Context(), plan, run); err != nil {
			t.Fatal(err)
		}
	}
	distinct := map[uint64]bool{}
	for run := range plan.Runs {
		if !slices.Equal(together[run], alone[run]) {
			t.Errorf("run %d: %d features after other runs, %d alone", run, len(together[run]), len(alone[run]))
		}
		for _, f := range together[run] {
			distinct[f] = true
		}
	}
	if len(distinct) < 50 {
		t.Errorf("%d runs reached %d features", plan.Runs, len(distinct))
	}
	monitor := model(t, "raftlog_fixed", conform.Options{}).New(lockstep.Info{Nodes: 3})
	if _, ok := monitor.(lockstep.FeatureSource).Features(lockstep.CodeFeatures); ok {
		t.Error("a model offers features of code")
	}
}

// TestGuidedByModel checks that a campaign learns from the model, that it is repeated by its seed, and that it does not
// depend on the workers.
func TestGuidedByModel(t *testing.T) {
	for seed := range uint64(3) {
		digests := map[float64]uint64{}
		for _, fresh := range []float64{0.2, 1} {
			plan := lockstep.Plan{System: raft.Cluster{Nodes: 3, Requests: 3}, Runs: 60, Seed: seed, Workers: 1,
				Strategy: strategy.Guided{Inner: strategy.Inner{Strategy: everything(100)}, Fresh: fresh, Keep: 100,
					By: strategy.ByModel, Lineages: 2, Epoch: 10},
				Spec: model(t, "raftlog_fixed", conform.Options{})}
			one := enginetest.Explore(t, plan)
			plan.Workers = 2
			if two := enginetest.Explore(t, plan); two.Digest != one.Digest {
				t.Errorf("seed %d: digest %x with one worker, %x with two", seed, one.Digest, two.Digest)
			}
			digests[fresh] = one.Digest
		}
		if digests[0.2] == digests[1] {
			t.Errorf("seed %d: what the runs reached in the model changes nothing", seed)
		}
	}
}
