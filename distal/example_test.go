package distal_test

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	examples "github.com/lockstep-go/lockstep/examples/distal"
)

// Majority is flooding with a threshold that is too low for its network.
const majority = `protocol Majority(n = 3)

message Value { phase: int, v: int } tag (phase, Value)

rounds Value

state {
	phase: int = 1
	v: int = choose({0, 1})
}

output int

init {
	send Value(phase, v) to all
}

upon Value ms with .phase == phase times > 1 do {
	v := (max m in ms by (m.v)).v
	output v
	phase := phase + 1
	send Value(phase, v) to all
}

property Agreement: forall p, q in all: p.output == none or q.output == none or p.output == q.output

test lossy { phases = 2; expect = violation }
test lossless { phases = 2; network = reliable; expect = pass }
`

func ExampleCheck() {
	r, remarks := distal.Check(majority)
	fmt.Println(r.Protocol, "has phase variable", r.Phase, "and a sequential form:", r.Sequential)
	for _, remark := range remarks {
		fmt.Println(remark)
	}
	// Output:
	// Majority has phase variable phase and a sequential form: true
	// 18:1: warning: upon Value may act before all messages that network reliable promises have come; the sequential form lets it wait for them [arrival order]
}

func ExampleFmt() {
	r, _ := distal.Fmt("protocol P(n=3)state{x:int=0}")
	fmt.Print(r.Text)
	// Output:
	// protocol P(n = 3)
	//
	// state {
	// 	x: int = 0
	// }
}

func ExampleRounds() {
	r, _ := distal.Rounds(majority)
	fmt.Print(r.Text)
	// Output:
	// // The rounds of Majority. An arrow leads to the round in which the node acts next.
	// init -> Value
	//
	// round Value
	// 	upon Value -> Value of another phase
}

func ExampleSeq() {
	r, _ := distal.Seq(majority, distal.Options{Network: "kernel"})
	fmt.Print(r.Text[strings.Index(r.Text, "round Value"):strings.Index(r.Text, "property")])
	// Output:
	// round Value {
	// 	send {
	// 		for sent in {due for due in due_Value if due.phase == now()} {
	// 			send Value(sent.phase, sent.v) to sent.whom
	// 		}
	// 		due_Value := {due2 for due2 in due_Value if due2.phase != now()}
	// 	}
	// 	deliver
	// 	update {
	// 		if due_Value == {} {
	// 			let matching = {m for m in received(Value) if m.phase == phase}
	// 			if matching != {} and len({m2.from for m2 in matching}) > 1 {
	// 				onValue(matching)
	// 			}
	// 		}
	// 	}
	// }
	//
	// network kernel
}

func ExampleExport() {
	r, _ := distal.Export(majority, distal.Options{})
	fmt.Println(strings.Contains(r.Text, "active proctype main()"))
	// Output: true
}

func ExampleExplore() {
	r, _ := distal.Explore(majority, distal.ExploreOptions{})
	fmt.Println(r.Verdict, r.Violation.Property, "in phase", r.Violation.Phase)
	fmt.Print(r.Trace)
	r, _ = distal.Explore(majority, distal.ExploreOptions{Options: distal.Options{Test: "lossless"}})
	fmt.Println(r.Verdict, r.States, "states,", r.Complete())
	// Output:
	// fail Agreement in phase 1
	// phase 1, round Value
	//   1 sends Value(1, 1) to 1 2 3
	//   2 sends Value(1, 0) to 1 2 3
	//   3 sends Value(1, 0) to 1 2 3
	//   1 hears 2 3: upon Value
	//     phase=2 v=0 output=0
	//   2 hears 1 2: upon Value
	//     phase=2 v=1 output=1
	// pass 12 states, complete to phase 2
}

func ExampleExplore_random() {
	src, _ := examples.Source("paxos_buggy")
	r, _ := distal.Explore(src, distal.ExploreOptions{Options: distal.Options{Phases: 5},
		Random: &explore.RandomOptions{Runs: 10_000, Deliver: 0.8, Seed: 1}})
	fmt.Println(r.Verdict, "with a violation in at most 5 phases:", r.Violation.Phase <= 5)
	// Output: fail with a violation in at most 5 phases: true
}

func ExampleLoad() {
	p, remarks := distal.Load(majority)
	fmt.Println(p.Name, p.RoundNames(), len(remarks.Errors()))
	// Output: Majority [Value] 0
}

func ExampleNewModel() {
	m, phases, _ := distal.NewModel(majority, distal.Options{Nodes: 5})
	fmt.Println(m.Program.N, "nodes,", phases, "phases,", m.Rounds(), "round a phase")
	// Output: 5 nodes, 2 phases, 1 round a phase
}

func ExampleTests() {
	src, _ := examples.Source("benor_fixed")
	results, _ := distal.Tests(src, distal.ExploreOptions{}, "three", "weak")
	for _, r := range results {
		fmt.Println(r.Test, r.Verdict, "expects", r.Expect, r.OK)
	}
	// Output:
	// three pass expects pass true
	// weak fail expects violation true
}

func ExampleClaims() {
	src, _ := examples.Source("lastvoting_fixed")
	r, _ := distal.Explore(src, distal.ExploreOptions{Options: distal.Options{Phases: 1}})
	for _, line := range r.Claims.Lines() {
		fmt.Println(line)
	}
	// Output:
	// 36 conditions are proved, 0 are only watched
	// [Agreement] relates several nodes and is checked between the halves and at the end of every round: asynchronous runs pass through other states as well
	// some values are proved to be alike: 148 states were looked at, which stand for all 296 (nodes are not: a node is named by its number at 23:33)
}
