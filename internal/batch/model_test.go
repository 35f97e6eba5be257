package batch

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/distal/conform"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/raft"
)

// Batches of several programs visit of a model what the same runs of one program visit.
func TestModel(t *testing.T) {
	const runs, half = 6, 3
	visits := func(from ...Ask) (v *model.Visits) {
		sum := NewSum(Hello{})
		for _, ask := range from {
			m, err := conform.Load("../../examples/distal/raftlog_fixed.distal")
			if err != nil {
				t.Fatal(err)
			}
			taken := func() *model.Visits {
				v := &model.Visits{}
				for _, x := range m.Take().List {
					v.Add(&model.Visits{Transitions: []model.Transition{{Rule: m.Rules()[x.Rule], Before: x.Before, After: x.After}}})
				}
				return v
			}
			made, err := newMaker(lockstep.Plan{System: raft.Cluster{Nodes: 3, Requests: 2}, Spec: m, Runs: runs,
				Strategy: strategy.Walk{Deliver: 40, Drop: 2, Timer: 10, Request: 1, Crash: 1, Restart: 2, Steps: 800}, Seed: 3},
				Measures{Model: taken})
			if err != nil {
				t.Fatal(err)
			}
			batch, err := made.make(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			made.close()
			line, err := json.Marshal(batch) // as one program sends it to another
			if err != nil {
				t.Fatal(err)
			}
			var read Made
			if err := json.Unmarshal(line, &read); err != nil {
				t.Fatal(err)
			}
			sum.Add(&read, 0)
		}
		return sum.Model
	}
	one, two := visits(Ask{End: runs}), visits(Ask{End: half}, Ask{First: half, End: runs})
	if len(one.Transitions) < 10 {
		t.Errorf("%d runs visit %d transitions", runs, len(one.Transitions))
	}
	if !reflect.DeepEqual(one.Transitions, two.Transitions) {
		t.Errorf("one program visits %v, two visit %v", one.Transitions, two.Transitions)
	}
	if first := visits(Ask{End: 1}); len(first.Transitions) >= len(one.Transitions) {
		t.Errorf("one run visits as much as %d: the test shows nothing", runs)
	}
}
