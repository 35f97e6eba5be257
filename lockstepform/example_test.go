package lockstepform_test

import (
	"context"
	"fmt"
	"os"
	"reflect"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// A random walk finds the bug in a run that is hard to read. Its lock-step form is in rounds, and shrinks as such.
func ExampleForm() {
	ctx := context.Background()
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3, Bug: true},
		Strategy: strategy.DefaultWalk,
		Spec:     smr.Prefix,
		Seed:     1,
	}
	result, err := lockstep.Explore(ctx, plan)
	if err != nil {
		panic(err)
	}
	found := result.First().Trace
	form, err := lockstepform.Form(ctx, plan, found)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d steps became %d rounds; %d messages came for nothing, %d before their round\n\n",
		found.Outcome.Steps, len(form.Trace.Rounds), form.Ignored, form.Swapped)
	small, err := shrink.Run(ctx, plan, form.Trace, shrink.Options{Attempts: 5000})
	if err != nil {
		panic(err)
	}
	_ = report.Grid(os.Stdout, small.Trace, report.Options{Width: 160})
	// Output:
	// 74 steps became 20 rounds; 13 messages came for nothing, 2 before their round
	//
	// smr-bug, 3 nodes, walk:deliver=10,drop=1,timer=1,request=1,steps=500, seed 1, run 17
	// shrunk from 5 phases, 20 rounds (18 with messages), 2 isolations, 11 lost links, 5 other steps
	//
	//         | phase 1         |         |                 |            | phase 2         |            |               |               | phase 3         |
	// round   | 1 Prepare       | 2 Ack   | 3 Propose       | 4 Promise  | 5 Prepare       | 6 Ack      | 7 Propose     | 8 Promise     | 9 Prepare       | 10 Ack
	// --------+-----------------+---------+-----------------+------------+-----------------+------------+---------------+---------------+-----------------+--------
	// node 1  | timer           | log=a   | ~isolated~      | ~isolated~ | phase=2         | ~isolated~ | ~isolated~    | ~isolated~    | phase=3         |
	//         | phase=1         |         |                 |            | last=1          |            |               |               | last=2          |
	// node 2  | phase=1         |         |                 |            | timer           | log=b      |               | output=b      | phase=3         |
	//         |                 |         |                 |            | phase=2         |            |               | * output b    | last=2          |
	//         |                 |         |                 |            | last=1          |            |               |               |                 |
	// node 3  | phase=1         |         |                 |            | phase=2         |            | log=b         | output=b      | timer           | log=ac
	//         |                 |         |                 |            | last=1          |            |               | ^ output b    | phase=3         |
	//         |                 |         |                 |            |                 |            |               |               | last=2          |
	// --------+-----------------+---------+-----------------+------------+-----------------+------------+---------------+---------------+-----------------+--------
	// arrived | 1>1,2,3 Prepare | 1>1 Ack |                 |            | 2>1,2,3 Prepare | 2>2 Ack    | 2>2,3 Propose | 2>2,3 Promise | 3>1,2,3 Prepare | 1>3 Ack
	//         |                 | 2>1 Ack |                 |            |                 | 3>2 Ack    |               | 3>2,3 Promise |                 | 2>3 Ack
	//         |                 | 3>1 Ack |                 |            |                 |            |               |               |                 | 3>3 Ack
	// lost    |                 |         | 1>1,2,3 Propose |            |                 | 1>2 Ack    | 2>1 Propose   | 2>1 Promise   |                 |
	//         |                 |         |                 |            |                 |            |               | 3>1 Promise   |                 |
	//
	//         | phase 3         |
	// round   | 11 Propose      | 12 Promise
	// --------+-----------------+----------------
	// node 1  | log=ac          | output=ac
	//         |                 | * output ac
	// node 2  | log=ac          |
	// node 3  |                 |
	// --------+-----------------+----------------
	// arrived | 3>1,2,3 Propose | 1>1,2,3 Promise
	//         |                 | 2>1 Promise
	//
	// * is the finding, which depends on steps in rounds 1-2, 5-12; ^ is another event
	//
	// FAIL prefix at step 40: node 1 outputs ac, but node 2 had output b
}

// In the replicated log a late message has no effect: its rounds are closed.
func ExampleMeasure() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk}
	m, err := lockstepform.Measure(context.Background(), plan, 100)
	if err != nil {
		panic(err)
	}
	fmt.Printf("closed in %d of %d runs\n", m.Closed, m.Runs)
	for _, c := range m.Types {
		fmt.Printf("%-8s %5d delivered, %4d late, %d of them changed a state\n", c.Type, c.Delivered, c.Late, c.Changed)
	}
	// Output:
	// closed in 100 of 100 runs
	// Ack       3270 delivered,  666 late, 0 of them changed a state
	// Prepare   4798 delivered, 1160 late, 0 of them changed a state
	// Promise   4689 delivered, 1073 late, 0 of them changed a state
	// Propose   2273 delivered,  382 late, 0 of them changed a state
}

// All runs of the replicated log have a lock-step form.
func ExampleSurvey() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultBaseline}
	s, err := lockstepform.Survey(context.Background(), plan, 20)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d of %d runs have a lock-step form; broken by %v\n", s.Formed, s.Runs, s.Breaks)
	// Output:
	// 20 of 20 runs have a lock-step form; broken by []
}

// Late messages, counted in batches of a campaign, and added up.
func ExampleGauge() {
	gauge := lockstepform.NewGauge()
	plan := gauge.Plan(lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Runs: 100})
	runner, err := lockstep.NewBatchRunner(plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runner.Close()
	var sum lockstepform.Measured
	for first := 0; first < 100; first += 40 {
		if _, err := runner.Make(context.Background(), first, min(first+40, 100), 0); err != nil {
			fmt.Println(err)
			return
		}
		sum.Add(gauge.Take())
	}
	whole, err := lockstepform.Measure(context.Background(), plan, 100)
	fmt.Println(sum.Runs, reflect.DeepEqual(sum.Types, whole.Types), err)
	// Output: 100 true <nil>
}
