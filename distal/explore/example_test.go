package explore_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
)

// A coin that every node throws for itself and then outputs: nodes do not agree.
const coins = `protocol Coins(n = 2)
message Face { phase: int, up: bool } tag (phase, Face)
rounds Face
state {
	phase: int = 1
	up: bool = choose({false, true})
}
output bool
init {
	send Face(phase, up) to all
}
upon Face ms with .phase == phase times all do {
	output up
}
property Agreement: forall p, q in all: p.output == none or q.output == none or p.output == q.output
`

func ExampleExhaustive() {
	m, phases, _ := distal.NewModel(coins, distal.Options{Phases: 1})
	r, _ := explore.Exhaustive(m, explore.Options{Phases: phases})
	fmt.Println(r.Verdict, r.Violation.Property, "in phase", r.Violation.Phase, "round", r.Violation.RoundName)
	fmt.Println(r.Complete())
	// Output:
	// fail Agreement in phase 1 round Face
	// no phase is complete
}

func ExampleRandom() {
	m, phases, _ := distal.NewModel(coins, distal.Options{Phases: 1})
	r, _ := explore.Random(m, explore.RandomOptions{Phases: phases, Runs: 100, Seed: 1})
	fmt.Println(r.Verdict, r.FirstRun > 0)
	// Output: fail true
}
