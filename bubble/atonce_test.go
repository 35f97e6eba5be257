package bubble_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// adder is a node that receives numbers from node 1 and reports their sum, from a goroutine that waits after every
// third.
func adder(n *bubble.Node, receive func(*bubble.Node, func(lockstep.Node, any)), look bool) error {
	numbers, sums := make(chan int, 100), make(chan int, 100)
	n.OnStop(func() { close(numbers) })
	n.Go(func() {
		sum := 0
		for x := range numbers {
			if sum += x; x%3 == 0 {
				time.Sleep(time.Second)
			}
			sums <- sum
		}
	})
	emit := func(sum int) { n.Emit("sum", sum) }
	receive(n, func(_ lockstep.Node, body any) {
		numbers <- body.(int)
		wait := func() { emit(<-sums) }
		if !look {
			n.Go(wait)
			return
		}
		n.OnQuiescent(func() bool {
			select {
			case sum := <-sums:
				emit(sum)
				return false
			default:
				n.Go(wait)
				return true
			}
		})
	})
	if n.Self() == 1 {
		for i := range 20 {
			n.Send(2, "Number", trace.Tag{}, i)
		}
	}
	return nil
}

// With ReceiveAtOnce and OnQuiescent the node reports the same as with goroutines that wait, at the same times.
func TestAtOnce(t *testing.T) {
	results := func(receive func(*bubble.Node, func(lockstep.Node, any)), look bool) (list []string) {
		c := bubble.Cluster{
			Name:  "adder",
			Nodes: 2,
			Start: func(n *bubble.Node) error { return adder(n, receive, look) },
		}
		watch := spec.OnEvent("sums", "sum", func(_ *struct{}, run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			list = append(list, fmt.Sprint(e.Value, " at ", time.Duration(run.Now()), " after step ", run.Steps()))
			return nil
		})
		explore(
			t,
			lockstep.Plan{
				System:   c,
				Strategy: strategy.Walk{Deliver: 2, Wait: 3, Steps: 60},
				Spec:     watch,
				Runs:     10,
				Workers:  1,
			},
		)
		// The Go runtime decides which of two goroutines reports first in a step.
		slices.Sort(list)
		return list
	}
	slow := results((*bubble.Node).Receive, false)
	fast := results((*bubble.Node).ReceiveAtOnce, true)
	if len(slow) < 90 || !slices.Equal(slow, fast) {
		t.Errorf("with goroutines %d sums, at once %d:\n%v\n%v", len(slow), len(fast), slow, fast)
	}
}

// A panic in a function given to ReceiveAtOnce, RequestAtOnce or OnQuiescent is the node's.
func TestAtOncePanics(t *testing.T) {
	for name, handle := range map[string]func(*bubble.Node){
		"request": nil,
		"handler": func(*bubble.Node) { panic("in the handler") },
		"look":    func(n *bubble.Node) { n.OnQuiescent(func() bool { panic("in the look") }) },
	} {
		c := bubble.Cluster{Name: "panics", Nodes: 2, Start: func(n *bubble.Node) error {
			n.OnRequestAtOnce(func(int32, string) { panic("in the request") })
			if handle != nil {
				n.ReceiveAtOnce(func(lockstep.Node, any) { handle(n) })
				n.Send(n.Others()[0], "Word", trace.Tag{}, "")
			}
			return nil
		}}
		if handle == nil {
			c.Requests = []string{"do"}
		}
		result := explore(t, lockstep.Plan{System: c, Strategy: strategy.DefaultPOS, Runs: 1})
		f := result.First()
		if f == nil || f.Finding.Property != "panic" || f.Finding.Text != "in the "+name ||
			!strings.Contains(f.Finding.Stack, "atonce_test.go") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
