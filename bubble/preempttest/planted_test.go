//go:build lockstep_points

package preempttest

import (
	"sync"
	"sync/atomic"
)

// planted is a value that two goroutines increment, without waiting in between.
type planted interface {
	add()
	value() int
}

// memory loses an update: it has no synchronization.
type memory struct{ n int }

//go:noinline
func (m *memory) add()       { m.n++ }
func (m *memory) value() int { return m.n }

// early releases its lock too early: another goroutine can write between its read and its write.
type early struct {
	mutex sync.Mutex
	n     int
}

//go:noinline
func (e *early) add() {
	e.mutex.Lock()
	n := e.n
	e.mutex.Unlock()
	e.mutex.Lock()
	e.n = n + 1
	e.mutex.Unlock()
}

func (e *early) value() int { return e.n }

// readers does so with a lock for readers and writers.
type readers struct {
	mutex sync.RWMutex
	n     int
}

//go:noinline
func (r *readers) add() {
	r.mutex.RLock()
	n := r.n
	r.mutex.RUnlock()
	r.mutex.Lock()
	r.n = n + 1
	r.mutex.Unlock()
}

func (r *readers) value() int { return r.n }

// atomics loses an update between two atomic operations.
type atomics struct{ n atomic.Int64 }

//go:noinline
func (a *atomics) add()       { a.n.Store(a.n.Load() + 1) }
func (a *atomics) value() int { return int(a.n.Load()) }

// functions does so with functions instead of methods.
type functions struct{ n uint64 }

//go:noinline
func (f *functions) add()       { atomic.StoreUint64(&f.n, atomic.LoadUint64(&f.n)+1) }
func (f *functions) value() int { return int(atomic.LoadUint64(&f.n)) }

// entries loses an update in a map that is safe for concurrent use.
type entries struct{ m sync.Map }

//go:noinline
func (e *entries) add() {
	n, _ := e.m.LoadOrStore("n", 0)
	e.m.Store("n", n.(int)+1)
}

func (e *entries) value() int {
	n, _ := e.m.Load("n")
	return n.(int)
}

// lazy checks whether its counter exists, and acts on the answer: two goroutines can make one.
type lazy struct{ counter atomic.Pointer[atomic.Int64] }

//go:noinline
func (l *lazy) add() {
	c := l.counter.Load()
	if c == nil {
		c = new(atomic.Int64)
		l.counter.Store(c)
	}
	c.Add(1)
}

func (l *lazy) value() int { return int(l.counter.Load().Load()) }

// twice closes a channel twice, which panics.
type twice struct {
	closed atomic.Bool
	done   chan bool
	n      atomic.Int64
}

//go:noinline
func (t *twice) add() {
	if !t.closed.Load() {
		close(t.done)
		t.closed.Store(true)
	}
	t.n.Add(1)
}

func (t *twice) value() int { return int(t.n.Load()) }

// token passes the value through a channel, but looks at its length first.
type token struct{ c chan int }

//go:noinline
func (t *token) add() {
	n := 0
	if len(t.c) > 0 {
		select {
		case n = <-t.c:
		default:
		}
	}
	t.c <- n + 1
}

func (t *token) value() int { return <-t.c }

// races are the kinds of races.
var races = map[string]func() planted{
	"memory":         func() planted { return &memory{} },
	"early unlock":   func() planted { return &early{} },
	"read lock":      func() planted { return &readers{} },
	"atomic":         func() planted { return &atomics{} },
	"functions":      func() planted { return &functions{} },
	"map":            func() planted { return &entries{} },
	"check then act": func() planted { return &lazy{} },
	"double close":   func() planted { return &twice{done: make(chan bool)} },
	"channel":        func() planted { return &token{make(chan int, 2)} },
}

// held has the lock until the value is written.
type held struct {
	mutex sync.Mutex
	n     int
}

//go:noinline
func (h *held) add() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.n++
}

func (h *held) value() int { return h.n }

// swapped tries again if there was another write.
type swapped struct{ n atomic.Int64 }

//go:noinline
func (s *swapped) add() {
	for n := s.n.Load(); !s.n.CompareAndSwap(n, n+1); n = s.n.Load() {
	}
}

func (s *swapped) value() int { return int(s.n.Load()) }

// once makes its counter once.
type once struct {
	once    sync.Once
	counter *atomic.Int64
}

//go:noinline
func (o *once) add() {
	o.once.Do(func() { o.counter = new(atomic.Int64) })
	o.counter.Add(1)
}

func (o *once) value() int { return int(o.counter.Load()) }

// passed passes the value through a channel.
type passed struct{ c chan int }

//go:noinline
func (p *passed) add()       { p.c <- 1 + <-p.c }
func (p *passed) value() int { return <-p.c }

// correct are programs without races.
var correct = map[string]func() planted{
	"lock":    func() planted { return &held{} },
	"swap":    func() planted { return &swapped{} },
	"once":    func() planted { return &once{} },
	"channel": func() planted { c := make(chan int, 1); c <- 0; return &passed{c} },
}

// noisy does other work before, in which a preemption has no effect.
type noisy struct{ planted }

//go:noinline
func (n noisy) add() {
	var own held
	for range 40 {
		own.add()
	}
	n.planted.add()
}
