package pool

import "time"

// Watched calls do on a goroutine of its own and waits for its result. At every value from
// look it asks whether the work is alive; where it is not, Watched returns without a result.
// The goroutine is left running then, since nothing can stop it.
func Watched[T any](do func() T, look <-chan time.Time, alive func() bool) (result T, done bool) {
	end := make(chan T, 1)
	go func() { end <- do() }()
	for {
		select {
		case result = <-end:
			return result, true
		case <-look:
			if !alive() {
				return result, false
			}
		}
	}
}
