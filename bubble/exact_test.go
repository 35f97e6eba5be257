//go:build lockstep_overlay

package bubble_test

import (
	"crypto/rand"
	"fmt"
	oldrand "math/rand"
	newrand "math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// chances are programs that tell of something that is random in Go.
var chances = map[string]func(*bubble.Node) error{
	"select": func(n *bubble.Node) error {
		a, b := make(chan int, 100), make(chan int, 100)
		for range 100 {
			a <- 1
			b <- 2
		}
		order := ""
		for range 100 {
			select {
			case x := <-a:
				order += fmt.Sprint(x)
			case x := <-b:
				order += fmt.Sprint(x)
			}
		}
		n.Emit("order", order)
		return nil
	},
	"map": func(n *bubble.Node) error {
		m := map[string]bool{}
		for i := range 50 {
			m[fmt.Sprint(i)] = true
		}
		order := ""
		for k := range m {
			order += k + " "
		}
		n.Emit("order", order)
		return nil
	},
	"timers": func(n *bubble.Node) error {
		var mutex sync.Mutex
		order := ""
		for i := range 20 {
			time.AfterFunc(time.Second, func() {
				mutex.Lock()
				defer mutex.Unlock()
				order += fmt.Sprint(i, " ")
			})
		}
		time.Sleep(2 * time.Second)
		n.Emit("order", order)
		return nil
	},
	"sources": func(n *bubble.Node) error {
		b := make([]byte, 8)
		_, _ = rand.Read(b)
		n.Emit("drawn", fmt.Sprint(oldrand.Int63(), newrand.Uint64(), b))
		return nil
	},
	"goroutines": func(n *bubble.Node) error {
		var mutex sync.Mutex
		var all sync.WaitGroup
		begin := make(chan struct{})
		order := ""
		for i := range 600 {
			all.Go(func() {
				<-begin
				mutex.Lock()
				defer mutex.Unlock()
				order += fmt.Sprint(i, " ")
			})
		}
		time.Sleep(time.Second)
		close(begin)
		all.Wait()
		n.Emit("order", order)
		return nil
	},
}

// Everything that is random in Go comes from the run's seed: which ready case a select takes,
// the order of maps and of timers of one instant, the random sources, and the order in which
// many goroutines run.
func TestExact(t *testing.T) {
	for name, start := range chances {
		t.Run(name, func(t *testing.T) {
			plan := lockstep.Plan{System: bubble.Cluster{Name: name, Nodes: 3, Start: start}, Strategy: strategy.Walk{Wait: 1, Steps: 40}, Seed: 1}
			r, err := bubble.Repetition(t.Context(), plan, 30)
			if err != nil || r.Same != 30 {
				t.Errorf("%d of 30 runs repeated, the first that did not is %d, %v", r.Same, r.First, err)
			}
		})
	}
}

// A node that freezes in a crash does nothing more, though nobody asked its goroutines to end,
// and starts again.
func TestFreeze(t *testing.T) {
	beats, lives := 0, 0
	stubborn := bubble.Cluster{Name: "stubborn", Nodes: 3, Freeze: true, Start: func(n *bubble.Node) error {
		lives++
		life := n.Life()
		for range 1000 {
			time.Sleep(50 * time.Millisecond)
			if n.Life() != life || !n.Alive() {
				panic("a frozen goroutine moved")
			}
			beats++
		}
		return nil
	}}
	stubborn.Begin = func(*bubble.World) { beats = 0 }
	walk := strategy.Walk{Wait: 10, Crash: 1, Restart: 1, Steps: 200}
	result, err := lockstep.Explore(t.Context(), lockstep.Plan{System: stubborn, Strategy: walk, Runs: 20, Seed: 1})
	if err != nil { // not explore, which looks for what is left
		t.Fatal(err)
	}
	if f := result.First(); f != nil || lives <= 60 || beats == 0 {
		t.Errorf("found %+v, %d lives, %d beats in the last run", f, lives, beats)
	}
}
