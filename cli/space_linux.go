package cli

import (
	"math"
	"syscall"
)

// addressSpace is the most address space that this process may take, as ulimit -v sets it; 0: there is no limit.
func addressSpace() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil || limit.Cur >= math.MaxInt64 {
		return 0
	}
	return limit.Cur
}
