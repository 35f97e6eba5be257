// Package bubble has goroutines and a clock that belong to a bubble.
package bubble

import (
	"math/rand/v2"
	"time"
)

func program(m map[string]int) time.Time {
	go program(m)
	time.Sleep(1)
	_ = rand.IntN(3) // want "rand.IntN"
	for range m {    // want "range over a map"
	}
	return time.Now()
}
