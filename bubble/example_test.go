package bubble_test

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// Two nodes greet each other once a minute. An hour of that is nothing.
func ExampleCluster() {
	greeters := bubble.Cluster{Name: "greeters", Nodes: 2, Pace: time.Hour, Start: func(n *bubble.Node) error {
		n.Receive(func(from lockstep.Node, body any) { n.Emit("greeted", fmt.Sprint(body, " from ", from)) })
		for {
			select {
			case <-time.After(time.Minute):
				n.Send(n.Others()[0], "Greeting", lockstep.Tag{}, "hello")
			case <-n.Context().Done():
				return nil
			}
		}
	}}
	greetings := 0
	count := spec.OnEvent("greetings", "greeted", func(_ *struct{}, run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if greetings++; greetings == 100 {
			fmt.Println(e.Value, "after", time.Duration(run.Now()))
		}
		return nil
	})
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: greeters, Strategy: strategy.DefaultPOS, Spec: count, Runs: 1})
	fmt.Println(result.Verdict(), err)
	// Output:
	// hello from 1 after 50m0s
	// pass <nil>
}

// What is written to a disk survives a crash.
func ExampleDiskOf() {
	type lives struct{ count int }
	cluster := bubble.Cluster{Name: "lives", Nodes: 3, Start: func(n *bubble.Node) error {
		disk := bubble.DiskOf(n, "lives", func() *lives { return &lives{} }, func(l *lives) *lives { c := *l; return &c })
		disk.Write(func(l *lives) { l.count++ })
		disk.Read(func(l *lives) {
			if l.count != n.Life() {
				panic(fmt.Sprintf("life %d finds %d", n.Life(), l.count))
			}
		})
		return nil
	}}
	walk := strategy.Walk{Wait: 1, Crash: 1, Restart: 1, Steps: 20}
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: cluster, Strategy: walk, Runs: 10})
	fmt.Println(result.Verdict(), err)
	// Output: pass <nil>
}

func ExampleRepetition() {
	r, err := bubble.Repetition(context.Background(), lockstep.Plan{System: lockers, Strategy: strategy.DefaultPOS}, 5)
	fmt.Println(r.Same, "of", r.Of, err)
	// Output: 5 of 5 <nil>
}

// A node whose program answers by a channel: it gets its messages, and is asked for its answers, by
// the goroutine that takes the steps.
func ExampleNode_WhenQuiet() {
	echo := bubble.Cluster{Name: "echo", Nodes: 2, Start: func(n *bubble.Node) error {
		words, answers := make(chan string, 1), make(chan string, 1)
		n.Go(func() {
			for word := range words {
				answers <- "you said " + word
			}
		})
		n.OnStop(func() { close(words) })
		n.ReceiveAtOnce(func(from lockstep.Node, body any) {
			words <- body.(string)
			n.WhenQuiet(func() bool {
				n.Emit("answer", <-answers)
				return false
			})
		})
		if n.Self() == 1 {
			n.Send(2, "Word", lockstep.Tag{}, "hello")
		}
		return nil
	}}
	show := spec.OnEvent("show", "answer", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		fmt.Println(e.Value)
		return nil
	})
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: echo, Strategy: strategy.DefaultPOS, Spec: show, Runs: 1})
	fmt.Println(result.Verdict(), err)
	// Output:
	// you said hello
	// pass <nil>
}

// A bare cluster has no engine: the caller delivers.
func ExampleNewBare() {
	b, err := bubble.NewBare(lockers, &lockstep.Place{})
	if err != nil {
		fmt.Println(err)
		return
	}
	finding, err := b.Run(1, func() {
		fmt.Println(b.Sent(), "messages")
		b.Deliver(0)
		b.Wait(time.Millisecond)
	})
	fmt.Println(finding, err, b.Close())
	// Output:
	// 6 messages
	// <nil> <nil> <nil>
}

// Runs that repeat exactly have the same digest, here and in any other process.
func ExampleDigest() {
	silent := bubble.Cluster{Name: "silent", Nodes: 2, Exact: true, Start: func(n *bubble.Node) error {
		n.Send(n.Others()[0], "Greeting", lockstep.Tag{}, "hello")
		return nil
	}}
	plan := lockstep.Plan{System: silent, Strategy: strategy.DefaultWalk, Seed: 1}
	one, _ := bubble.Digest(context.Background(), plan, 10)
	two, err := bubble.Digest(context.Background(), plan, 10)
	fmt.Println(one == two, err)
	// Output: true <nil>
}
