package bubble_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// Two nodes greet each other once a minute. An hour of that takes almost no real time.
func ExampleCluster() {
	greeters := bubble.Cluster{Name: "greeters", Nodes: 2, Pace: time.Hour, Start: func(n *bubble.Node) error {
		n.Receive(func(from lockstep.Node, body any) { n.Emit("greeted", fmt.Sprint(body, " from ", from)) })
		for {
			select {
			case <-time.After(time.Minute):
				n.Send(n.Others()[0], "Greeting", trace.Tag{}, "hello")
			case <-n.Context().Done():
				return nil
			}
		}
	}}
	greetings := 0
	count := spec.OnEvent(
		"greetings",
		"greeted",
		func(_ *struct{}, run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			if greetings++; greetings == 100 {
				fmt.Println(e.Value, "after", time.Duration(run.Now()))
			}
			return nil
		},
	)
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: greeters, Strategy: strategy.DefaultPOS, Spec: count, Runs: 1})
	fmt.Println(result.Verdict(), err)
	// Output:
	// hello from 1 after 50m0s
	// pass <nil>
}

// The sender on a broken connection learns what was lost.
func ExampleNode_OnLost() {
	senders := bubble.Cluster{Name: "senders", Nodes: 2, Start: func(n *bubble.Node) error {
		n.OnLost(func(to lockstep.Node, body any) { n.Emit("lost", fmt.Sprint(body, " to ", to)) })
		n.Send(n.Others()[0], "Greeting", trace.Tag{}, "hello")
		return nil
	}}
	show := spec.OnEvent("losses", "lost", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		fmt.Println("node", e.Node, "lost", e.Value)
		return nil
	})
	_, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: senders, Strategy: strategy.Walk{Drop: 1, Steps: 1}, Spec: show, Runs: 1, Seed: 1})
	fmt.Println(err)
	// Output:
	// node 2 lost hello to 1
	// <nil>
}

// Data written to a disk survives a crash.
func ExampleDiskOf() {
	type incarnations struct{ count int }
	cluster := bubble.Cluster{Name: "incarnations", Nodes: 3, Start: func(n *bubble.Node) error {
		disk := bubble.DiskOf(n, "incarnations", func() *incarnations { return &incarnations{} },
			func(l *incarnations) *incarnations { c := *l; return &c })
		if n.Self() == 1 {
			disk.WriteNow(func(l *incarnations) { l.count++ }) // however slow the disk is
		} else {
			disk.Write(func(l *incarnations) { l.count++ })
		}
		disk.Read(func(l *incarnations) {
			if l.count != n.Incarnation() {
				panic(fmt.Sprintf("incarnation %d finds %d", n.Incarnation(), l.count))
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

// A recorded run has the lines that servers log, with their time. Specs do not see them.
func ExampleNode_Log() {
	servers := bubble.Cluster{Name: "servers", Nodes: 1, Start: func(n *bubble.Node) error {
		lines := log.New(n.LogWriter(bubble.Warn), "", 0) // a server's own logger
		if n.Recorded() {
			lines.SetPrefix("server: ")
		}
		time.Sleep(time.Second)
		n.LogPairs(bubble.Info, "listens", "port", 2379)
		n.Log(trace.LogOperator, "", func() string { return "compact up to revision 8 -> ok" })
		time.Sleep(time.Second)
		lines.Print("slow disk")
		return nil
	}}
	walk := strategy.Walk{Wait: 1, Steps: 30}
	t, err := lockstep.Record(context.Background(), lockstep.Plan{System: servers, Strategy: walk}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range t.Records {
		for _, l := range r.Logs {
			fmt.Println(time.Duration(l.At), l.Source, l.Level, l.Text)
		}
	}
	// Output:
	// 1s server info listens port=2379
	// 1s operator  compact up to revision 8 -> ok
	// 2s server warn server: slow disk
}

// A node whose program answers by a channel. The goroutine that performs the steps delivers its messages and collects
// its answers.
func ExampleNode_OnQuiescent() {
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
			n.OnQuiescent(func() bool {
				n.Emit("answer", <-answers)
				return false
			})
		})
		if n.Self() == 1 {
			n.Send(2, "Word", trace.Tag{}, "hello")
		}
		return nil
	}}
	show := spec.OnEvent("show", "answer", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		fmt.Println(e.Value)
		return nil
	})
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: echo, Strategy: strategy.DefaultPOS, Spec: show, Runs: 1})
	fmt.Println(result.Verdict(), err)
	// Output:
	// you said hello
	// pass <nil>
}

// A request handler that only forwards requests needs no goroutine to be woken for it.
func ExampleNode_OnRequestAtOnce() {
	counter := bubble.Cluster{
		Name:     "counter",
		Nodes:    1,
		Requests: []string{"one", "two"},
		Start: func(n *bubble.Node) error {
			words := make(chan string, 2)
			n.OnStop(func() { close(words) })
			n.OnRequestAtOnce(func(_ int32, text string) { words <- text })
			for word := range words {
				n.Emit("counted", word)
			}
			return nil
		},
	}
	show := spec.OnEvent("show", "counted", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		fmt.Println(e.Value)
		return nil
	})
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: counter, Strategy: strategy.Walk{Request: 1, Steps: 3}, Spec: show, Runs: 1, Seed: 1})
	fmt.Println(result.Verdict(), err)
	// Output:
	// two
	// one
	// pass <nil>
}

// A bare cluster has no engine: the caller delivers messages.
func ExampleNewBare() {
	b, err := bubble.NewBare(lockers, &lockstep.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	finding, err := b.Run(1, func() {
		fmt.Println(b.Sent(), "messages")
		b.Deliver(0)
		fmt.Println("a request:", b.GiveRequest(1))
		b.Wait(time.Millisecond)
	})
	fmt.Println(finding, err, b.Close())
	// Output:
	// 6 messages
	// a request: false
	// <nil> <nil> <nil>
}

// Deterministic runs have the same digests, here and in any other process.
func ExampleDigests() {
	silent := bubble.Cluster{Name: "silent", Nodes: 2, Deterministic: true, Start: func(n *bubble.Node) error {
		n.Send(n.Others()[0], "Greeting", trace.Tag{}, "hello")
		return nil
	}}
	plan := lockstep.Plan{System: silent, Strategy: strategy.DefaultWalk, Seed: 1}
	one, _ := bubble.Digests(context.Background(), plan, 10)
	two, err := bubble.Digests(context.Background(), plan, 10)
	fmt.Println(len(one), slices.Equal(one, two), err)
	// Output: 10 true <nil>
}

// The methods of a node: this one throws a die for each request, and keeps the results in a file that its next
// incarnation finds.
func ExampleNode() {
	start := func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		name := filepath.Join(dir, "thrown")
		before, _ := os.ReadFile(name)
		n.SetState(func() string {
			return fmt.Sprintf("incarnation %d of node %d of %d", n.Incarnation(), n.Self(), n.Nodes())
		})
		n.SetRole(func() string { return "thrower" })
		thrown, end := make(chan int), make(chan struct{})
		n.OnStop(func() { close(end) })
		n.OnRequest(func(int32, string) { thrown <- 1 + n.Source().IntN(6) })
		n.Go(func() {
			for n.Alive() {
				select {
				case number := <-thrown:
					before = append(before, byte('0'+number))
					if err := os.WriteFile(name, before, 0o600); err != nil {
						panic(err)
					}
					n.Emit("thrown", string(before))
				case <-end:
				}
			}
		})
		return nil
	}
	cluster := bubble.Cluster{
		Name:     "throwers",
		Nodes:    1,
		Start:    start,
		Requests: []string{"throw", "throw", "throw"},
		Roles:    []string{"thrower"},
	}
	checker := spec.OnEvent("thrown", "thrown", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		fmt.Println(e.Value)
		return nil
	})
	walk := strategy.Walk{Request: 1, Crash: 1, Restart: 3, Steps: 10}
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: cluster, Strategy: walk, Spec: checker, Runs: 1, Seed: 1})
	fmt.Println(result.Verdict(), err)
	// Output:
	// 5
	// 54
	// 542
	// pass <nil>
}

// Clients that react to the run offer requests one after the other, and withdraw one. Their draws are recorded with the
// step in which they occur.
func ExampleWorld() {
	begin := func(w *bubble.World) {
		dice, bytes := w.Source(7), w.Rand(8)
		next := int32(0)
		ask := func() {
			next++
			w.Offer(trace.Pending{ID: next, To: trace.NodesOf(1, 2), Text: fmt.Sprint("add ", dice.IntN(10))})
		}
		w.Value = ask
		ask()
		w.Offer(trace.Pending{ID: 100, To: trace.NodesOf(1), Text: fmt.Sprint(bytes.Uint64(), w.Seed())})
		w.Withdraw(100)
		w.Event(lockstep.Event{Type: "answered", Value: "nothing yet"})
	}
	start := func(n *bubble.Node) error {
		n.OnRequest(func(id int32, text string) {
			n.Emit("answered", fmt.Sprintf("%d %s", id, text))
			if id < 3 {
				n.World().Value.(func())()
			}
		})
		return nil
	}
	checker := spec.OnEvent(
		"answered",
		"answered",
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			fmt.Println(e.Value)
			return nil
		},
	)
	cluster := bubble.Cluster{Name: "adders", Nodes: 2, Begin: begin, Start: start}
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: cluster, Strategy: strategy.DefaultPOS, Spec: checker, Runs: 1, Seed: 1})
	fmt.Println(result.Verdict(), err)
	// Output:
	// nothing yet
	// 1 add 5
	// 2 add 3
	// 3 add 0
	// pass <nil>
}

// A node draws a random number. The trace records it with the step, so that shrinking may lower it.
func ExampleSource() {
	cluster := bubble.Cluster{Name: "die", Nodes: 1, Requests: []string{"throw"}, Start: func(n *bubble.Node) error {
		n.OnRequest(func(int32, string) {
			n.Emit("thrown", 1+n.Source().IntN(6))
			n.Emit("wide", n.Source().Uint64())
			n.Emit("for others", n.Rand().IntN(6)) // code that needs math/rand/v2
		})
		return nil
	}}
	t, err := lockstep.Record(context.Background(),
		lockstep.Plan{System: cluster, Strategy: strategy.Walk{Request: 1, Steps: 1}, Seed: 1}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	step := t.Records[1]
	fmt.Println(step.Text, len(step.Draws), "draws,", step.Draws[0].N, "by", step.Draws[0].By, step.Events[0].Text)
	// Output: client->1 throw 3 draws, 4 by 1 5
}

// A node that injects its own faults stops when the run settles.
func ExampleWorld_Settling() {
	cluster := bubble.Cluster{Name: "trouble", Nodes: 1, Pace: time.Second, Start: func(n *bubble.Node) error {
		for n.Context().Err() == nil {
			time.Sleep(time.Second)
			if !n.World().Settling() {
				n.Emit("trouble", nil)
			}
		}
		return nil
	}}
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Steps: 3}, Settle: 10, Runs: 1})
	fmt.Println(result.Steps, "steps,", result.Events[0].N, result.Events[0].Name, err)
	// Output:
	// 13 steps, 3 trouble <nil>
}

// Most times are between 1 ms and 5 ms, and one of a hundred takes up to two seconds.
func ExampleDelay_UnmarshalText() {
	var d bubble.Delay
	err := d.UnmarshalText([]byte("1ms..5ms+0.01:2s"))
	fmt.Println(d.Min, d.Max, d.Tail, d.Longest, err)
	fmt.Println(d.UnmarshalText([]byte("soon")))
	// Output:
	// 1ms 5ms 0.01 2s <nil>
	// "soon" is not like 5ms, 1ms..5ms or 1ms..5ms+0.01:2s
}
