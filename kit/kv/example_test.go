package kv_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// store is a key-value server with goroutines: each node applies operations to its map, one after the other. With a
// primary node 1 alone applies all operations. Without one each node answers from its own map and sends writes to the
// others.
func store(primary bool) bubble.Cluster {
	load := kv.Load{Clients: 2, Requests: 4, Keys: 1}
	const nodes = 3
	var lock sync.Mutex
	var clients *kv.Clients // of the run; nodes share them

	start := func(n *bubble.Node) error {
		var values kv.Map
		values.Reset(load.Keys, load.Clients)
		tasks := make(chan func(), 100)
		answer := func(o kv.Op, r kv.Result) {
			lock.Lock()
			defer lock.Unlock()
			clients.Answer(n.Self(), o.Client, o.Seq, r)
		}
		type answered struct {
			op     kv.Op
			result kv.Result
		}
		n.OnRequest(func(id int32, _ string) { // a client asks this node
			lock.Lock()
			op, _ := clients.Given(id)
			o := *op
			lock.Unlock()
			tasks <- func() {
				if primary && n.Self() != 1 {
					n.Send(1, "Forward", trace.Tag{}, o)
					return
				}
				answer(o, values.Apply(o))
				for _, to := range n.Others() {
					if !primary && o.Writes() {
						n.Send(to, "Write", trace.Tag{}, o)
					}
				}
			}
		})
		n.Receive(func(from lockstep.Node, body any) {
			tasks <- func() {
				switch m := body.(type) {
				case answered:
					answer(m.op, m.result)
				case kv.Op:
					result := values.Apply(m)
					if primary {
						n.Send(from, "Answer", trace.Tag{}, answered{m, result})
					}
				}
			}
		})
		for {
			select {
			case task := <-tasks:
				task()
			case <-n.Context().Done():
				return nil
			}
		}
	}
	return bubble.Cluster{Name: "store", Nodes: nodes, Deterministic: true, Process: bubble.Process{Serial: true},
		Start: start,
		Begin: func(w *bubble.World) {
			clients = kv.NewClients(load, nodes)
			clients.Begin(w.Source(1), w)
		}}
}

// A server with goroutines is tested for linearizability: it runs in a bubble, and the clients of this package use it.
func ExampleClients_bubble() {
	for _, primary := range []bool{false, true} {
		result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: store(primary), Spec: kv.Linearizable,
			Strategy: strategy.Walk{Request: 1, Deliver: 1, Wait: 1, Steps: 60}, Runs: 200, Seed: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("primary %t: %s", primary, result.Verdict())
		if f := result.First(); f != nil {
			fmt.Printf(", %s violated", f.Finding.Property)
		}
		fmt.Println()
	}
	// Output:
	// primary false: fail, linearizability violated
	// primary true: pass
}
