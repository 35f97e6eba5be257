//go:build unix

// Package processor tells how much processor time the program has used, for benchmarks:
// on a busy machine the time on the wall says little.
package processor

import (
	"syscall"
	"time"
)

// Used is the processor time that this process has used so far.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails only for wrong arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
