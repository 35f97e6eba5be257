//go:build lockstep_overlay && go1.26

package bubble_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// queues are objects in which goroutines of nodes wait. They belong to a node, or to the process.
type queues struct {
	channel, full chan int
	mutex, second sync.Mutex
	readers       sync.RWMutex
	cond          *sync.Cond
	group         sync.WaitGroup
}

// newQueues makes queues in which all goroutines wait indefinitely.
func newQueues() *queues {
	q := &queues{channel: make(chan int), full: make(chan int)}
	q.mutex.Lock()
	q.readers.Lock()
	q.cond = sync.NewCond(&q.second)
	q.group.Add(1)
	return q
}

// wait makes goroutines of a node wait in all of them, each with some memory.
func (q *queues) wait(n *bubble.Node) {
	for _, wait := range []func(){
		func() { <-q.channel },
		func() { q.full <- 1 },
		func() {
			select {
			case <-q.channel:
			case q.full <- 2:
			case <-n.Context().Done():
			}
		},
		func() { q.mutex.Lock() },
		func() { q.readers.RLock() },
		func() {
			q.second.Lock()
			q.cond.Wait()
		},
		func() { q.group.Wait() },
		func() { time.Sleep(1000 * time.Hour) },
		func() { select {} },
		func() {
			for { // ready to run when the node freezes
				time.Sleep(10 * time.Millisecond)
			}
		},
	} {
		go func() {
			kept := make([]byte, 64<<10)
			wait()
			runtime.KeepAlive(kept)
		}()
	}
}

// inUse returns the number of goroutines and the bytes of heap in use.
func inUse() (int, uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), m.HeapAlloc
}

// Frozen nodes leave nothing behind after their run: no goroutine, no memory, and no waiter in the queues of the
// process.
func TestDiscard(t *testing.T) {
	shared := newQueues()
	start := func(n *bubble.Node) error {
		shared.wait(n)
		newQueues().wait(n)
		n.Emit("up", n.Incarnation())
		<-n.Context().Done()
		return nil
	}
	plan := lockstep.Plan{
		System: bubble.Cluster{
			Name:    "left",
			Nodes:   3,
			Freeze:  &bubble.Freeze{},
			Start:   start,
			Process: bubble.Process{Serial: true},
		},
		Strategy: strategy.Walk{Wait: 10, Crash: 1, Restart: 3, Steps: 100},
		Seed:     1,
		Runs:     20,
	}
	goroutines, bytes := 0, uint64(0)
	for i := range 5 {
		if r := explore(t, plan); r.Verdicts[trace.Pass] != plan.Runs {
			t.Fatalf("%v %v, %+v", r.Verdicts, r.Reasons, r.First())
		}
		g, b := inUse()
		if i == 0 {
			goroutines, bytes = g, b
		}
		if g > goroutines+10 || b > bytes+4<<20 {
			t.Errorf("after %d runs there are %d goroutines and %d MB, after %d there were %d and %d MB",
				(i+1)*plan.Runs, g, b>>20, plan.Runs, goroutines, bytes>>20)
		}
	}
	select {
	case <-shared.full:
		t.Error("one of the dead sends")
	case shared.channel <- 1:
		t.Error("one of the dead receives")
	default:
	}
	shared.mutex.Unlock()
	shared.readers.Unlock()
	shared.cond.Broadcast()
	shared.group.Done()
	shared.mutex.Lock()
	if r, err := bubble.Repetition(t.Context(), plan, 5); err != nil || r.Same != r.Of {
		t.Errorf("%+v, %v", r, err)
	}
}
