//go:build !unix

// Package processor tells how much processor time the program has used, for benchmarks;
// on this system it is the time on the wall.
package processor

import "time"

var start = time.Now()

// Used is the time since the start of the program.
func Used() time.Duration { return time.Since(start) }
