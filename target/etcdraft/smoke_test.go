package etcdraft_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
)

func TestSmoke2(t *testing.T) {
	rough := strategy.Walk{Deliver: 20, Drop: 2, Duplicate: 1, Alarm: 3, Request: 2, Crash: 1, Restart: 2, Cut: 1, Heal: 1}
	for i, c := range []etcdraft.Cluster{
		{}, {PreVote: true}, {CheckQuorum: true}, {PreVote: true, CheckQuorum: true}, {Compact: 3}, {Async: true}, {Async: true, Compact: 3},
		{MaxSizePerMsg: 1}, {MaxInflight: 1}, {NoForward: true}, {Transfers: 5}, {Nodes: 5, Voters: 3, Changes: 5, Compact: 4, Requests: 2}, {Nodes: 5, Transfers: 2, Changes: 5, Async: true}, {Delay: 3}, {Nodes: 1}, {Nodes: 2}, {Nodes: 5, Election: 10}, {Clients: 4, Keys: 3, Requests: 6},
	} {
		for _, sys := range []lockstep.System{c, v35.Cluster(c)} {
			if c.Async && sys != lockstep.System(c) {
				continue
			}
			settle := 3000
			if c.Nodes == 5 {
				settle = 6000
			}
			r, err := lockstep.Explore(context.Background(), lockstep.Plan{System: sys, Strategy: rough, Spec: etcdraft.Everything, Runs: 300, Steps: 300, Settle: settle, Workers: 1})
			if err != nil {
				t.Error(i, err)
				continue
			}
			fmt.Printf("%d %+v %v %v %v\n", i, sys, r.Runs, r.Verdicts, r.Judged)
			if f := r.First(); f != nil {
				fmt.Println("FOUND", f.Run, f.Finding, f.Flaky, f.Finding.Stack)
			}
		}
	}
}
