// Package pool spreads numbered jobs over workers and returns the results in order.
//
// No other package starts goroutines for runs. Therefore the linter can require that the packages that execute runs
// have none.
package pool

import (
	"sync"
	"sync/atomic"
)

// Ordered calls do(worker, i) for i = 0, 1, ... below n on the given number of workers. It calls take(i, result) for
// each in ascending order of i from the calling goroutine. It stops early when take returns false; results of later
// jobs are dropped. Each worker does one job at a time, so that do may keep state by worker.
func Ordered[T any](workers, n int, do func(worker, i int) T, take func(i int, result T) bool) {
	if workers <= 1 || n <= 1 {
		for i := range n {
			if !take(i, do(0, i)) {
				return
			}
		}
		return
	}
	// A circular list of slots bounds how far workers may run ahead of take. A ticket is held for each job that has begun
	// and was not taken, so that a worker always finds its slot free. Workers fetch their jobs themselves. Without a
	// dispatcher, a worker never waits for another goroutine to get a processor while there is work.
	slots := make([]chan T, min(n, 4*workers))
	for i := range slots {
		slots[i] = make(chan T, 1)
	}
	var (
		begun   atomic.Int64
		stop    = make(chan struct{})
		tickets = make(chan struct{}, len(slots))
		wg      sync.WaitGroup
	)
	for w := range workers {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case tickets <- struct{}{}:
				}
				i := int(begun.Add(1) - 1)
				if i >= n {
					return
				}
				slots[i%len(slots)] <- do(w, i)
			}
		})
	}
	for i := range n {
		result := <-slots[i%len(slots)]
		<-tickets
		if !take(i, result) {
			break
		}
	}
	close(stop)
	wg.Wait()
}

// Each calls do(worker, i) for i = 0, 1, ... below n on the given number of workers, of which the caller is the first.
// Every worker gets its jobs in ascending order. When one fails, no more jobs begin. The error is that of the first
// failed job.
func Each(workers, n int, do func(worker, i int) error) error {
	var (
		begun  atomic.Int64
		mu     sync.Mutex
		first  = n
		failed error
	)
	work := func(worker int) {
		for i := int(begun.Add(1) - 1); i < n; i = int(begun.Add(1) - 1) {
			err := do(worker, i)
			if err == nil {
				continue
			}
			begun.Store(int64(n))
			mu.Lock()
			if i < first {
				first, failed = i, err
			}
			mu.Unlock()
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < min(workers, n); w++ {
		wg.Go(func() { work(w) })
	}
	work(0)
	wg.Wait()
	return failed
}
