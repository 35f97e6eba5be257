package examples_test

import (
	"fmt"
	"strings"

	examples "github.com/lockstep-go/lockstep/examples/distal"
)

func ExampleNames() {
	fmt.Println(strings.Join(examples.Names(), " "))
	// Output: benor_buggy benor_fixed chandratoueg lastvoting paxos_buggy paxos_fixed raft_buggy raft_fixed twophase_buggy twophase_fixed uniformvoting_buggy uniformvoting_fixed viewchange_buggy viewchange_fixed
}

func ExampleSource() {
	text, _ := examples.Source("lastvoting")
	fmt.Println(strings.Contains(text, "protocol LastVoting(n = 3, values = 2)"))
	_, err := examples.Source("zab")
	fmt.Println(err != nil)
	// Output:
	// true
	// true
}
