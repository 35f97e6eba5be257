//go:build lockstep_overlay

package bubble_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// repeats wants runs to repeat.
func repeats(t *testing.T, c bubble.Cluster, s lockstep.Strategy) {
	t.Helper()
	const runs = 20
	r, err := bubble.Repetition(t.Context(), lockstep.Plan{System: c, Strategy: s, Seed: 1}, runs)
	if err != nil || r.Same != runs {
		t.Errorf("%d of %d runs repeated, the first that did not is %d, %v", r.Same, runs, r.First, err)
	}
}

// What earlier runs left in the pools of packages does not show: whoever finds nothing in one makes something new, and may
// draw for it.
func TestPools(t *testing.T) {
	var pool sync.Pool
	laps := 0
	repeats(t, bubble.Cluster{Name: "pools", Nodes: 1, Start: func(n *bubble.Node) error {
		if pool.Get() == nil {
			rand.Uint64()
		}
		n.Emit(fmt.Sprint(rand.Uint64()), nil)
		if laps++; laps%2 == 0 {
			pool.Put(1)
		}
		return nil
	}}, strategy.Walk{Wait: 1, Steps: 3})
}

// Timers of the engine and of nodes that are due at one moment fire in the same order, whatever the engine has drawn: it draws less when it
// takes the steps of a trace.
func TestTies(t *testing.T) {
	laps := 0
	type shared struct {
		mutex sync.Mutex
		order string
	}
	after := func(w *bubble.World, who any) {
		time.AfterFunc(time.Second, func() {
			s := w.Value.(*shared)
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.order += fmt.Sprint(who, " ")
		})
	}
	c := bubble.Cluster{Name: "ties", Nodes: 3}
	c.Begin = func(w *bubble.World) {
		w.Value = &shared{}
		laps++
		for range laps {
			rand.Uint64()
		}
		for range 3 {
			after(w, "engine")
		}
	}
	c.Start = func(n *bubble.Node) error {
		for i := range 3 {
			after(n.World(), fmt.Sprint(n.Self(), ".", i))
		}
		time.Sleep(2 * time.Second)
		s := n.World().Value.(*shared)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		n.Emit(s.order, nil)
		return nil
	}
	repeats(t, c, strategy.Walk{Wait: 1, Steps: 60})
}
