//go:build lockstep_overlay

package bubble_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// A node whose clock is an hour ahead is paused for ten seconds and notices only that its sleep was long.
func ExampleWorld_Pause() {
	cluster := bubble.Cluster{Name: "sleeper", Nodes: 1, Pace: time.Hour, Begin: func(w *bubble.World) {
		w.Value = time.Now()
		if err := w.SetClock(1, bubble.ClockError{Ahead: time.Hour}); err != nil {
			panic(err)
		}
		time.AfterFunc(time.Second, func() { _ = w.Pause(1, 10*time.Second) })
	}, Start: func(n *bubble.Node) error {
		begin := time.Now()
		n.Emit("reported", fmt.Sprint("ahead by ", begin.Sub(n.World().Value.(time.Time))))
		time.Sleep(2 * time.Second)
		n.Emit("reported", fmt.Sprint("slept for ", time.Since(begin)))
		return nil
	}}
	reported := spec.OnEvent("reported", "reported",
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			fmt.Println(e.Value)
			return nil
		})
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Steps: 5}, Spec: reported, Runs: 1})
	fmt.Println(result.Verdict(), err)
	// Output:
	// ahead by 1h0m0s
	// slept for 11s
	// pass <nil>
}

// If two processes perform different runs of a seed, the first line of their turns that differs is close to the cause.
func ExampleTurns() {
	cluster := bubble.Cluster{Name: "sleeper", Nodes: 2, Pace: time.Second, Start: func(*bubble.Node) error {
		time.Sleep(time.Millisecond)
		return nil
	}}
	bench, err := lockstep.NewRunner(lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Steps: 5}})
	if err != nil {
		panic(err)
	}
	defer bench.Close()
	// initializes values that the process makes on first use
	if _, err := bench.Run(context.Background(), 0, nil); err != nil {
		panic(err)
	}
	var here, there strings.Builder
	first, err := bubble.Turns(context.Background(), bench, 0, &here)
	fmt.Println(first != "", err)
	second, err := bubble.Turns(context.Background(), bench, 0, &there)
	fmt.Println(first == second, here.String() == there.String(), err)
	// Output:
	// true <nil>
	// true true <nil>
}

// Apart shows the lines before the first difference, and then lines of both outputs.
func ExampleDifference() {
	text, err := bubble.Difference(strings.NewReader("begin\nseed\nturn of 1\nturn of 2\n"),
		strings.NewReader("begin\nseed\nturn of 1\nturn of 3\n"))
	fmt.Print(text)
	fmt.Println(err)
	// Output:
	// line 4
	//   begin
	//   seed
	//   turn of 1
	// 1 turn of 2
	// 2 turn of 3
	// <nil>
}

// A hook that code of all nodes calls reports an event of the node that calls it.
func ExampleWorld_CallerNode() {
	var hook func(where string)
	cluster := bubble.Cluster{
		Name:  "hooked",
		Nodes: 2,
		Begin: func(w *bubble.World) {
			hook = func(where string) { w.Event(lockstep.Event{Node: w.CallerNode(), Type: "saves", Value: where}) }
		},
		Start: func(n *bubble.Node) error {
			hook("before the write")
			return nil
		},
	}
	show := spec.OnEvent("shown", "saves", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		fmt.Println("node", e.Node, e.Type, e.Value)
		return nil
	})
	plan := lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Steps: 1}, Spec: show, Runs: 1}
	if _, err := lockstep.Explore(context.Background(), plan); err != nil {
		fmt.Println(err)
	}
	// Output:
	// node 1 saves before the write
	// node 2 saves before the write
}

// Every restart of a node uses the other one of its two configurations.
func ExampleNode_Configuration() {
	seen := map[int]int{} // by incarnation, of all nodes alike
	cluster := bubble.Cluster{Name: "configured", Nodes: 3, OtherConfigurations: 1, Faults: bubble.Faults{Reconfigure: 1},
		Start: func(n *bubble.Node) error {
			seen[n.Incarnation()] = n.Configuration()
			return nil
		}}
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{
		System: cluster, Strategy: strategy.Walk{Crash: 1, Restart: 1, Steps: 100}, Runs: 1})
	fmt.Println(seen[1], seen[2], seen[3], result.Verdict(), err)
	// Output: 0 1 0 pass <nil>
}
