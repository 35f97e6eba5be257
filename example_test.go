package lockstep_test

import (
	"context"
	"fmt"
	"os"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

func ExampleExplore() {
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3, Bug: true},
		Strategy: strategy.Uniform{Period: 4, Isolations: 4, Rounds: 16},
		Spec:     smr.Prefix,
		Runs:     10_000,
	}
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	f := result.First()
	fmt.Printf("%s in run %d: %s\n", result.Verdict(), f.Run, f.Finding)
	fmt.Println(result.Guarantee)
	// Output:
	// fail in run 6: prefix: node 1 outputs d, but node 2 had output b
	// one run hits a given 4-periodic uniform execution of 16 rounds with at most 4 isolations with probability at least 7.05e-06 (there are 141905)
}

// Any run of a campaign can be rerun and inspected, whether it failed or not.
func ExampleRecord() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix, Seed: 1}
	run, err := lockstep.Record(context.Background(), plan, 7)
	fmt.Println(run.Header.Run, run.Outcome.Verdict, run.Records[1].Text, err)
	// Output: 7 pass 1 timer <nil>
}

// A runner makes single runs: here one with the same system and seed as a recorded one, but
// with other choices.
func ExampleRunner() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix, Seed: 1}
	run, _ := lockstep.Record(context.Background(), plan, 7)
	plan.Strategy = strategy.Uniform{Period: 4, Rounds: 8}
	runner, err := lockstep.NewRunnerFor(plan, run)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runner.Close()
	again, err := runner.Record(context.Background(), run.Header.Run, nil)
	fmt.Println(again.Header.Run, again.Header.Seed == run.Header.Seed, len(again.Rounds), err)
	// Output: 7 true 8 <nil>
}

// A player repeats the steps of a recorded run.
func ExamplePlayer() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix, Seed: 1}
	run, _ := lockstep.Record(context.Background(), plan, 7)
	runner, err := lockstep.NewRunnerFor(plan, run)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runner.Close()
	player := lockstep.NewPlayer(trace.ScriptOf(run), run.Rounds)
	outcome, err := runner.Run(context.Background(), run.Header.Run, player)
	_, diverged := player.Diverged()
	fmt.Println(outcome.Steps == run.Outcome.Steps, len(player.Took()) == run.Outcome.Steps, diverged, err)
	// Output: true true false <nil>
}

func ExampleGuarantee() {
	g := lockstep.Guarantee{Class: "a given schedule", PerRun: 0.001, Assumes: []string{"runs are independent"}}
	fmt.Println(g)
	fmt.Printf("%.3f %d\n", g.After(1000), g.Runs(0.99))
	// Output:
	// one run hits a given schedule with probability at least 0.001
	// 0.632 4603
}

func ExampleRunSeed() {
	fmt.Printf("%x %x\n", lockstep.RunSeed(1, 0), lockstep.RunSeed(1, 1))
	// Output: 910a2dec89025cc1 beeb8da1658eec67
}

func Example_grid() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultUniform, Spec: smr.Prefix}
	result, _ := lockstep.Explore(context.Background(), plan)
	small, _ := shrink.Run(context.Background(), plan, result.First().Trace, shrink.Options{})
	small.Trace.Rounds = small.Trace.Rounds[:4]
	small.Trace.Records = small.Trace.Records[:17]
	_ = report.Grid(os.Stdout, small.Trace, report.Options{})
	// Output:
	// smr-bug, 3 nodes, uniform:isolations=4,rounds=16, seed 0, run 6
	// shrunk from 4 phases, 16 rounds (12 with messages), 4 isolations
	//
	//         | phase 1         |         |               |
	// round   | 1 Prepare       | 2 Ack   | 3 Propose     | 4 Promise
	// --------+-----------------+---------+---------------+--------------
	// node 1  | timer           | log=a   |               | output=a
	//         | phase=1         |         |               | * output a
	// node 2  | phase=1         |         | ~isolated~    | ~isolated~
	// node 3  | phase=1         |         | log=a         | output=a
	//         |                 |         |               | * output a
	// --------+-----------------+---------+---------------+--------------
	// arrived | 1>1,2,3 Prepare | 1>1 Ack | 1>1,3 Propose | 1>1,3 Promise
	//         |                 | 2>1 Ack |               | 3>1,3 Promise
	//         |                 | 3>1 Ack |               |
	// lost    |                 |         | 1>2 Propose   | 1>2 Promise
	//         |                 |         |               | 3>2 Promise
	//
	// * is the finding, which depends on steps in rounds 1-4
	//
	// FAIL prefix at step 36: node 1 outputs c, but node 1 had output a
}
