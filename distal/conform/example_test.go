package conform_test

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/conform"
	examples "github.com/lockstep-go/lockstep/examples/distal"
	"github.com/lockstep-go/lockstep/target/raft"
)

// A model of Raft as the spec of an implementation.
func ExampleNew() {
	text, _ := examples.Source("raftlog_fixed")
	model, err := conform.New(text, conform.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: raft.Cluster{Nodes: 3, Requests: 3},
		Strategy: everything(300), Spec: model, Runs: 5, Seed: 1})
	fmt.Println(result.Verdict(), err)
	// Output: pass <nil>
}

func ExampleLoad() {
	model, err := conform.Load("../../examples/distal/raftlog_fixed.distal")
	fmt.Println(model.Properties(), err)
	// Output: [conformance] <nil>
}

// A model of Raft says nothing about outputs.
func ExampleSpec_Fits() {
	text, _ := examples.Source("twophase_fixed")
	model, _ := conform.New(text, conform.Options{})
	info, _ := raft.Cluster{Nodes: 3}.Describe()
	fmt.Println(model.Fits(info) != nil)
	// Output: true
}
