package cli

import (
	"math"
	"syscall"
)

// addressSpace returns this process's limit on address space, as ulimit -v sets it; 0: there is no limit.
func addressSpace() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil || limit.Cur >= math.MaxInt64 {
		return 0
	}
	return limit.Cur
}
