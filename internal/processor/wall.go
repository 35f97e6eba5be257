//go:build !unix

// Package processor measures the CPU time of the program, for benchmarks. On this system it returns the elapsed time.
package processor

import "time"

var start = time.Now()

// Used returns the time since the start of the program.
func Used() time.Duration { return time.Since(start) }
