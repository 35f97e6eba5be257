package lockstep_test

import (
	"context"
	"fmt"
	"os"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
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

func ExampleShrink() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix}
	result, _ := lockstep.Explore(context.Background(), plan)
	small, err := lockstep.Shrink(context.Background(), plan, result.First().Trace, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("from", small.Was)
	fmt.Println("to", small.Is)
	// Output:
	// from 198 steps, 20 messages lost
	// to 27 steps, 0 messages lost
}

func ExampleReplay() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultUniform, Spec: smr.Prefix}
	result, _ := lockstep.Explore(context.Background(), plan)
	again, err := lockstep.Replay(plan, result.First().Trace)
	fmt.Println(again.Outcome.Verdict, again.Outcome.Finding, err)

	// The corrected protocol behaves differently: that is flaky, not passed.
	t := *result.First().Trace
	t.Header.Target = "smr"
	again, err = lockstep.Replay(lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: smr.Prefix}, &t)
	fmt.Println(again.Outcome.Verdict, again.Outcome.Reason, err)
	// Output:
	// fail prefix: node 1 outputs d, but node 2 had output b <nil>
	// flaky step 9 (deliver 2->1 Prepare phase=2): message was "1->2 Ack phase=2 last=1 log=-", now "1->2 Ack phase=2 last=0 log=-" <nil>
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
	small, _ := lockstep.Shrink(context.Background(), plan, result.First().Trace, 0)
	small.Trace.Rounds = small.Trace.Rounds[:4]
	small.Trace.Records = small.Trace.Records[:17]
	_ = report.Grid(os.Stdout, small.Trace, report.Options{})
	// Output:
	// smr-bug, 3 nodes, uniform:period=4,isolations=4,rounds=16, seed 0, run 6
	// shrunk from 4 phases, 16 rounds (12 with messages), 4 isolations
	//
	//         | phase 1         |         |               |
	// round   | 1 Prepare       | 2 Ack   | 3 Propose     | 4 Promise
	// --------+-----------------+---------+---------------+--------------
	// node 1  | phase=1         | log=a   |               | output=a
	//         |                 |         |               | ^ output a
	// node 2  | phase=1         |         | ~isolated~    | ~isolated~
	// node 3  | phase=1         |         | log=a         | output=a
	//         |                 |         |               | ^ output a
	// --------+-----------------+---------+---------------+--------------
	// arrived | 1>1,2,3 Prepare | 1>1 Ack | 1>1,3 Propose | 1>1,3 Promise
	//         |                 | 2>1 Ack |               | 3>1,3 Promise
	//         |                 | 3>1 Ack |               |
	// lost    |                 |         | 1>2 Propose   | 1>2 Promise
	//         |                 |         |               | 3>2 Promise
	//
	// FAIL prefix at step 36: node 1 outputs c, but node 1 had output a
}
