package processor

import (
	"runtime"
	"syscall"
	"unsafe"
)

// set is a set of processors in the kernel's form.
type set [16]uint64

// Only runs f on its own thread, which stays on one processor. number selects one of the processors that the program
// may use, modulo their count. Processes that f starts stay there, too.
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

// pick returns the set with only the number-th member.
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

// affinity gets or sets the processors of the thread.
func affinity(call uintptr, s *set) error {
	if _, _, err := syscall.RawSyscall(call, 0, unsafe.Sizeof(*s), uintptr(unsafe.Pointer(s))); err != 0 {
		return err
	}
	return nil
}
