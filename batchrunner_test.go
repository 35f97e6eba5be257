package lockstep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
	"pgregory.net/rapid"
)

// inBatches makes a campaign in batches that end at the given runs, by several batch runners, and adds their results
// up. Whatever one machine sends to another passes through JSON.
func inBatches(t *rapid.T, plan lockstep.Plan, ends []int, runners int) *lockstep.Result {
	var list []*lockstep.BatchRunner
	for range runners {
		runner, err := lockstep.NewBatchRunner(plan)
		if err != nil {
			t.Fatal(err)
		}
		defer runner.Close()
		list = append(list, runner)
	}
	var sum *lockstep.Result
	first := 0
	for i, end := range ends {
		found := 0
		if sum != nil {
			found = rapid.IntRange(0, sum.Verdicts[trace.Fail]).Draw(t, "known findings")
		}
		part, err := list[i%runners].Make(t.Context(), first, end, found)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		sent := &lockstep.Result{}
		if err := json.Unmarshal(text, sent); err != nil {
			t.Fatal(err)
		}
		if sum == nil {
			sum = sent
		} else {
			sum.Add(sent, plan.Keep)
		}
		if first = end; len(sum.Failures) > 0 && !plan.KeepGoing {
			break
		}
	}
	list[0].Conclude(sum)
	return sum
}

// oneClock is a system whose nodes share one clock.
type oneClock struct{ raft.Cluster }

func (o oneClock) Describe() (lockstep.Info, error) {
	info, err := o.Cluster.Describe()
	info.OneClock = true
	return info, err
}

// However a campaign is split into batches, and whichever batch runner makes them, the result is that of Explore.
func TestBatches(t *testing.T) {
	plans := []lockstep.Plan{
		{
			System:    smr.Cluster{Nodes: 3, Bug: true},
			Strategy:  strategy.DefaultWalk,
			Spec:      smr.Prefix,
			Keep:      3,
			KeepGoing: true,
		},
		{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix, Keep: 3},
		{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultPCTCP, Spec: smr.Prefix, Keep: 3},
		{
			System:   raft.Cluster{Nodes: 3},
			Strategy: strategy.DefaultWalk,
			Spec:     raft.Targets[0].Spec,
			Keep:     3,
			Settle:   100,
			Steps:    200,
		},
		{
			System:   oneClock{raft.Cluster{Nodes: 3}},
			Strategy: strategy.DefaultWalk,
			Spec:     raft.Targets[0].Spec,
			Keep:     3,
			Settle:   100,
			Steps:    200,
		},
		{System: toy.Troubled{Recheck: 3, Diverges: true, Inconclusive: 8, Nondeterminism: []string{"a.go:1",
			"b.go:2"}}, Strategy: strategy.Walk{Deliver: 2, Timer: 1, Steps: 30},
			MaxInFlight: 12, MaxInconclusive: 1000},
	}
	rapid.Check(t, func(t *rapid.T) {
		plan := rapid.SampledFrom(plans).Draw(t, "plan")
		plan.Seed, plan.Runs, plan.Workers = rapid.Uint64Range(0, 3).
			Draw(t, "seed"),
			rapid.IntRange(1, 120).
				Draw(t, "runs"),
			rapid.IntRange(1, 3).
				Draw(t, "workers")
		ends := append(rapid.SliceOfN(rapid.IntRange(1, plan.Runs), 0, 5).Draw(t, "ends"), plan.Runs)
		slices.Sort(ends)
		got := inBatches(t, plan, slices.Compact(ends), rapid.IntRange(1, 3).Draw(t, "runners"))
		want, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if _, timed := plan.System.(oneClock); timed != (want.Virtual > 0) {
			t.Errorf("%d of virtual time", want.Virtual)
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(lockstep.Failure{}, "Trace"),
			cmpopts.IgnoreFields(lockstep.Guarantee{}, "Space"), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("Explore (-), in batches (+):\n%s", d)
		}
	})
}

// A learning strategy continues where the previous batch ended, and schedules and states are those of the batch.
func TestBatchesOfOneRunner(t *testing.T) {
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3},
		Strategy: strategy.DefaultSystematic,
		Spec:     smr.Prefix,
		Runs:     300,
		Distinct: true,
	}
	want, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := lockstep.NewBatchRunner(plan)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	all := map[uint64]bool{}
	digest, runs := uint64(0), 0
	for first := 0; first < want.Runs; first += 100 {
		part, err := runner.Make(t.Context(), first, min(first+100, want.Runs), 0)
		if err != nil {
			t.Fatal(err)
		}
		schedules, states := runner.Distinct()
		if len(schedules) != part.Schedules || len(states) != part.States {
			t.Errorf("%d and %d, the result says %d and %d", len(schedules), len(states), part.Schedules, part.States)
		}
		for _, h := range states {
			all[h] = true
		}
		digest, runs = digest+part.Digest, runs+part.Runs
	}
	if digest != want.Digest || runs != want.Runs || len(all) != want.States {
		t.Errorf("digest %x, %d runs, %d states; in one piece %x, %d, %d", digest, runs, len(all), want.Digest,
			want.Runs, want.States)
	}
}

func ExampleBatchRunner() {
	runner, err := lockstep.NewBatchRunner(
		lockstep.Plan{
			System:   smr.Cluster{Nodes: 3},
			Strategy: strategy.DefaultUniform,
			Spec:     smr.Prefix,
			Distinct: true,
		},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runner.Close()
	plan, info, terms := runner.Prepared()
	fmt.Println(info.Name, plan.Runs, terms.Sequential)
	sum, err := runner.Make(context.Background(), 0, 400, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	more, err := runner.Make(context.Background(), 400, 1000, 0) // perhaps on another machine
	if err != nil {
		fmt.Println(err)
		return
	}
	schedules, _ := runner.Distinct()
	fmt.Println(len(schedules) == more.Schedules)
	sum.Add(more, plan.Keep)
	runner.Conclude(sum)
	fmt.Println(sum.Runs, sum.Verdict())
	// Output:
	// smr 1000 false
	// true
	// 1000 pass
}
