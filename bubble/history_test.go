//go:build lockstep_overlay

package bubble_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// repeats requires that runs are deterministic.
func repeats(t *testing.T, c bubble.Cluster, s lockstep.Strategy) {
	t.Helper()
	const runs = 20
	r, err := bubble.Repetition(t.Context(), lockstep.Plan{System: c, Strategy: s, Seed: 1}, runs)
	if err != nil || r.Same != runs {
		t.Errorf("%d of %d runs repeated, the first that did not is %d, %v", r.Same, runs, r.First, err)
	}
}

// Objects that earlier runs left in a sync.Pool have no effect. A goroutine that finds nothing in a pool makes a new
// object, and may draw for it.
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

// Timers of the engine and of nodes that are due at one moment fire in the same order, whatever the engine has drawn.
// The engine draws less when it replays the steps of a trace.
func TestTies(t *testing.T) {
	laps := 0
	type shared struct {
		mutex sync.Mutex
		order string
	}
	after := func(w *bubble.World, name any) {
		time.AfterFunc(time.Second, func() {
			s := w.Value.(*shared)
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.order += fmt.Sprint(name, " ")
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

// Apart shows the first difference of two runs of a seed, with the place.
func TestDifference(t *testing.T) {
	laps := 0
	c := bubble.Cluster{Name: "apart", Nodes: 2, Start: func(n *bubble.Node) error {
		time.Sleep(time.Second)
		if n.Self() == 2 {
			if laps++; laps%2 == 0 {
				drawOneMore()
			}
			n.Emit(fmt.Sprint(rand.Uint64()), nil)
		}
		return nil
	}}
	bench, err := lockstep.NewRunner(lockstep.Plan{System: c, Strategy: strategy.Walk{Wait: 1, Steps: 20}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	if _, err := bench.Run(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	var turns [3]bytes.Buffer
	var digests [3]string
	for i := range turns {
		if digests[i], err = bubble.Turns(t.Context(), bench, 0, &turns[i]); err != nil {
			t.Fatal(err)
		}
	}
	same, err := bubble.Difference(bytes.NewReader(turns[0].Bytes()), bytes.NewReader(turns[2].Bytes()))
	if err != nil || same != "" || digests[0] != digests[2] {
		t.Errorf("runs that are the same: %s, %v, %v", same, digests, err)
	}
	apart, err := bubble.Difference(&turns[0], &turns[1])
	if err != nil || !strings.Contains(apart, "drawOneMore") || digests[0] == digests[1] {
		t.Errorf("%s, %v, %v", apart, digests, err)
	}
}

//go:noinline
func drawOneMore() { rand.Uint64() }

// The order of two timers of one moment does not depend on their addresses. A select that has waited for them in vain
// puts them back in the order of the addresses of their channels.
func TestAddresses(t *testing.T) {
	laps := 0
	repeats(t, bubble.Cluster{Name: "addresses", Nodes: 1, Start: func(n *bubble.Node) error {
		laps++
		var timers []*time.Timer
		for range 16 {
			timers = append(timers, time.NewTimer(time.Hour))
		}
		first, second := timers[0], timers[1]
		if low := reflect.ValueOf(first.C).Pointer() < reflect.ValueOf(second.C).Pointer(); low == (laps%2 == 0) {
			first, second = second, first
		}
		for _, other := range timers {
			other.Stop()
		}
		first.Reset(5 * time.Second)
		second.Reset(5 * time.Second)
		for {
			select {
			case <-first.C:
				n.Emit("first", nil)
				return nil
			case <-second.C:
				n.Emit("second", nil)
				return nil
			case <-time.After(100 * time.Millisecond):
			}
		}
	}}, strategy.Walk{Wait: 1, Steps: 100})
}

// caches are process-wide values that a package makes on first use.
var caches sync.Map

// Values that a package makes once in a process, with maps in them, have no effect on later runs, nor on the first run
// that needs them.
func TestOnce(t *testing.T) {
	laps := 0
	repeats(t, bubble.Cluster{Name: "once", Nodes: 1, Start: func(n *bubble.Node) error {
		laps++
		if _, is := caches.Load(laps / 2); !is {
			cache := map[string]int{"there": 1}
			for i := range 20 {
				cache[fmt.Sprint(i)] = i
			}
			caches.Store(laps/2, cache)
		}
		n.Emit(fmt.Sprint(rand.Uint64()), nil)
		return nil
	}}, strategy.Walk{Wait: 1, Steps: 3})
}
