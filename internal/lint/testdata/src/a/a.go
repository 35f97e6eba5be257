package a

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

func bad(m map[string]int) {
	go bad(m)        // want "goroutine in a package where runs happen"
	_ = time.Now()   // want "time.Now in a package where runs happen"
	time.Sleep(1)    // want "time.Sleep"
	f := time.Since  // want "time.Since"
	_ = rand.IntN(3) // want "rand.IntN"
	for range m {    // want "range over a map"
	}
	for range maps.Keys(m) { // want "range over a map"
	}
	//lockstep:unordered
	for range m { // want "range over a map"
	}
	_ = f
}

func good(m map[string]int) {
	r := rand.New(rand.NewPCG(1, 2))
	_ = r.IntN(3)
	_ = time.Duration(3).String()
	for range slices.Sorted(maps.Keys(m)) {
	}
	sum := 0
	//lockstep:unordered a sum does not depend on the order
	for _, v := range m {
		sum += v
	}
	for _, v := range m { //lockstep:unordered a sum does not depend on the order
		sum += v
	}
}
