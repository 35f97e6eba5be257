package lockstep_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// Any run of a campaign can be made again and looked at, whether it failed or not.
func ExampleRecord() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix, Seed: 1}
	run, err := lockstep.Record(plan, 7)
	if err != nil {
		panic(err)
	}
	fmt.Println(run.Header.Run, run.Outcome.Verdict, run.Records[1].Text)
	// Output: 7 pass 1 alarm
}

// A run with the same system and seed, but with other choices.
func ExampleRemake() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix, Seed: 1}
	run, err := lockstep.Record(plan, 7)
	if err != nil {
		panic(err)
	}
	plan.Strategy = strategy.Uniform{Period: 4, Rounds: 8}
	again, err := lockstep.Remake(plan, run)
	if err != nil {
		panic(err)
	}
	fmt.Println(again.Header.Run, again.Header.Seed == run.Header.Seed, len(again.Rounds))
	// Output: 7 true 8
}
