package rpc_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/rpc"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/shown"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// never checks nothing: the tests do.
var never = spec.OnEvent("nothing", "nothing",
	func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { return nil })

// request adds a number to the embedded message.
type request struct {
	rpc.Message
	number int
}

// doubling is a cluster in which node 1 asks node 2 for doubles of numbers, one after the other, and passes the results
// to report. Node 2 answers every third question with an error.
func doubling(questions int, report func(number int, answer any, err error)) bubble.Cluster {
	return bubble.Cluster{
		Name:    "doubling",
		Nodes:   2,
		Network: bubble.Messages{Duplicates: true, Text: func(any) string { return "" }},
		Start: func(n *bubble.Node) error {
			c := rpc.New(n, time.Second)
			n.OnStop(c.Close)
			n.ReceiveAtOnce(func(from lockstep.Node, body any) {
				if c.Take(body.(rpc.Carrier)) {
					return
				}
				r := body.(*request)
				answer := &rpc.Message{Body: 2 * r.number}
				if r.number%3 == 0 {
					answer = &rpc.Message{Err: "not a third one"}
				}
				c.Answer(from, "Double", &r.Message, answer)
			})
			if n.Self() == 1 {
				n.Go(func() { // Start must not wait
					for i := range questions {
						m, err := c.Ask(2, "Question", &request{number: i})
						switch {
						case err != nil:
							report(i, nil, err)
						case m.Err != "":
							report(i, nil, errors.New(m.Err))
						default:
							report(i, m.Body, nil)
						}
					}
				})
			}
			return nil
		},
	}
}

// An answer belongs to its question, though messages are late, lost or duplicated. A question without an answer ends by
// the timeout, or with the incarnation of the requesting node.
func TestAnswers(t *testing.T) {
	const questions = 30
	outcomes := map[string]int{}
	hear := func(number int, answer any, err error) {
		switch {
		case err == nil && answer != 2*number:
			t.Errorf("%d is answered by %v", number, answer)
		case err != nil:
			outcomes[err.Error()]++
		default:
			outcomes["answered"]++
		}
	}
	result := enginetest.Explore(
		t,
		lockstep.Plan{System: doubling(questions, hear), Spec: never, Runs: 30, Seed: 1, Workers: 1,
			Strategy: strategy.Walk{Deliver: 80, Drop: 20, Duplicate: 40, Wait: 20, Crash: 1, Restart: 20, Steps: 150}},
	)
	if f := result.First(); f != nil {
		t.Fatal(f.Finding)
	}
	for _, outcome := range []string{"answered", "not a third one", rpc.ErrTimeout.Error(), rpc.ErrClosed.Error()} {
		if outcomes[outcome] == 0 {
			t.Errorf("%q never happened: %v", outcome, outcomes)
		}
	}
}

// A call with a function Delivered needs no goroutine that waits. Each function is called once, at the timeout, or for
// all calls at Close.
func TestDelivered(t *testing.T) {
	var results []string
	start := func(n *bubble.Node) error {
		c := rpc.New(n, time.Second)
		n.OnStop(c.Close)
		n.Receive(func(lockstep.Node, any) {})
		if n.Self() != 1 {
			return nil
		}
		begin := time.Now()
		for i, after := range []time.Duration{0, 500 * time.Millisecond, 2 * time.Second, 3 * time.Second} {
			a := &rpc.Call{Delivered: func(_ *rpc.Message, err error) {
				results = append(results, fmt.Sprintf("%d after %s: %v", i, time.Since(begin), err))
			}}
			n.Go(func() {
				time.Sleep(after)
				c.Send(2, "Question", &request{number: i}, a)
				c.Await(a)
			})
		}
		n.Go(func() {
			time.Sleep(2500 * time.Millisecond)
			c.Close()
			c.Close()
		})
		return nil
	}
	begin := func(*bubble.World) { results = nil } // with the overlay a run that only warms the process up comes first
	cluster := bubble.Cluster{Name: "delivered", Nodes: 2, Begin: begin, Start: start,
		Network: bubble.Messages{Text: func(any) string { return "" }}}
	result := enginetest.Explore(t, lockstep.Plan{System: cluster, Spec: never, Runs: 1,
		Strategy: strategy.Walk{Wait: 1, Steps: 200}})
	if f := result.First(); f != nil {
		t.Fatal(f.Finding)
	}
	want := []string{"0 after 1s: call timed out", "1 after 1.5s: call timed out", "2 after 2.5s: calls have ended"}
	if !slices.Equal(results, want) {
		t.Errorf("%q", results)
	}
}

// Await after Close returns false.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := rpc.New(nil, time.Second)
		c.Close()
		if c.Await(&rpc.Call{}) {
			t.Error("the time of a call runs after the end")
		}
		<-c.Closed()
	})
}

func ExampleCalls() {
	// A node doubles the numbers that others ask it for.
	var answers []string // of the run; with the overlay, a run that only warms the process up comes first
	begin := func(*bubble.World) { answers = nil }
	cluster := bubble.Cluster{Name: "doubling", Nodes: 2, Begin: begin, Start: func(n *bubble.Node) error {
		c := rpc.New(n, time.Second)
		n.OnStop(c.Close)
		n.Receive(func(from lockstep.Node, body any) {
			m := body.(*rpc.Message)
			if !c.Take(m) { // it is a question
				c.Answer(from, "Double", m, &rpc.Message{Body: 2 * m.Body.(int)})
			}
		})
		if n.Self() == 1 {
			n.Go(func() {
				answer, err := c.Ask(2, "Question", &rpc.Message{Body: 21})
				answers = append(answers,
					fmt.Sprint(answer.Body, err, answer.Incarnation() == n.Incarnation(), answer.Carried() == answer))
				call := c.Begin(2, "Question", &rpc.Message{Body: 4})
				answer, err = call.Wait()
				answers = append(answers, fmt.Sprint(answer.Body, err))
			})
		}
		return nil
	}}
	bare, err := bubble.NewBare(cluster, &lockstep.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bare.Close()
	_, _ = bare.Run(1, func() {
		for i := range 4 { // every message arrives
			bare.Deliver(i)
		}
	})
	fmt.Println(strings.Join(answers, "\n"))
	// Output:
	// 42 <nil> true true
	// 8 <nil>
}

func ExampleSequence() {
	var sequence rpc.Sequence[string]
	sequence.Put(1, "second")
	_, arrived := sequence.Next()
	fmt.Println(arrived)
	sequence.Put(0, "first")
	for what, arrived := sequence.Next(); arrived; what, arrived = sequence.Next() {
		fmt.Println(what)
	}
	// Output:
	// false
	// first
	// second
}

func TestShown(t *testing.T) { shown.Verbs(t, ".", "Send", "Await", "Close", "Closed") }
