package examples_test

import (
	"fmt"
	"strings"

	examples "github.com/lockstep-go/lockstep/examples/distal"
)

func ExampleNames() {
	fmt.Println(strings.Join(examples.Names(), " "))
	// Output: benor_buggy benor_fixed benortwoquorums_buggy benortwoquorums_fixed chandratoueg_buggy chandratoueg_fixed fastpaxos_buggy fastpaxos_fixed lastvoting_buggy lastvoting_fixed onethird_buggy onethird_fixed paxos_buggy paxos_fixed raft_buggy raft_fixed raftlog_buggy raftlog_fixed threephase_buggy threephase_fixed twophase_buggy twophase_fixed uniformvoting_buggy uniformvoting_fixed viewchange_buggy viewchange_fixed
}

func ExampleSource() {
	text, _ := examples.Source("lastvoting_fixed")
	fmt.Println(strings.Contains(text, "protocol LastVoting(n = 3, values = 2)"))
	_, err := examples.Source("zab")
	fmt.Println(err != nil)
	// Output:
	// true
	// true
}
