package processor

import (
	"runtime"
	"syscall"
	"unsafe"
)

// set is a set of processors as the kernel wants it.
type set [16]uint64

// Only runs f in a thread of its own that stays on one processor, the number-th of those that
// the program may use, counted round. Processes that f starts stay there, too.
func Only(number int, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var may set
	if affinity(syscall.SYS_SCHED_GETAFFINITY, &may) != nil {
		f()
		return
	}
	one := may.pick(number)
	if affinity(syscall.SYS_SCHED_SETAFFINITY, &one) == nil {
		defer func() { _ = affinity(syscall.SYS_SCHED_SETAFFINITY, &may) }()
	}
	f()
}

// pick is the set of the number-th member alone.
func (s *set) pick(number int) (one set) {
	var members []int
	for i := range len(s) * 64 {
		if s[i/64]>>(i%64)&1 == 1 {
			members = append(members, i)
		}
	}
	m := members[number%len(members)]
	one[m/64] = 1 << (m % 64)
	return one
}

// affinity gets or sets where the thread may run.
func affinity(call uintptr, s *set) error {
	if _, _, err := syscall.RawSyscall(call, 0, unsafe.Sizeof(*s), uintptr(unsafe.Pointer(s))); err != 0 {
		return err
	}
	return nil
}
