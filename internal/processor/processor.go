//go:build unix

// Package processor measures the CPU time of the program, for benchmarks. On a busy machine the elapsed time is not
// meaningful.
package processor

import (
	"syscall"
	"time"
)

// Used returns the CPU time that this process has used so far.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails only for wrong arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
