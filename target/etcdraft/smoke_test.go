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

func TestSmoke(t *testing.T) {
	for _, sys := range []lockstep.System{etcdraft.Cluster{}, v35.Cluster{}} {
		for _, s := range []lockstep.Strategy{strategy.Walk{Deliver: 10, Drop: 1, Alarm: 1, Request: 1}, strategy.Baseline{Drop: 0.25}, strategy.Lossy{Rounds: 100, Loss: .2}, strategy.Uniform{Period: 4, Isolations: 4, Rounds: 40}} {
			r, err := lockstep.Explore(context.Background(), lockstep.Plan{System: sys, Strategy: s, Spec: etcdraft.Everything, Settle: 3000, Runs: 300, Steps: 200, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println(s, r.Runs, r.Steps, r.Messages, r.Verdicts, r.Judged, r.Digest)
			if f := r.First(); f != nil {
				fmt.Println(f.Finding, f.Flaky, f.Finding.Stack)
				for _, rec := range f.Trace.Records {
					fmt.Println(rec.Number, rec.Step.Kind, rec.Text)
					for _, e := range rec.Events {
						fmt.Println("    ", e.Type, e.Node, e.Text)
					}
				}
			}
		}
	}
}
