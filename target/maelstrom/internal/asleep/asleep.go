// Package asleep detects whether a process waits for an external event.
//
// It takes two samples. In each, every thread of the process, and of its child processes, must sleep and be on no CPU.
// The kernel marks a thread as asleep slightly before it leaves the CPU. Between the samples no thread may have run:
// its count of context switches is the same. All of them therefore slept at a moment between the two samples. Any later
// activity is caused from outside, or by their clocks.
package asleep

// Watcher samples one process repeatedly.
type Watcher struct {
	pid         int
	first, last []thread
	buffer      []byte
}

// thread is one sample of a thread.
type thread struct {
	id       int
	switches uint64
}

// New creates a watcher of a process.
func New(pid int) *Watcher { return &Watcher{pid: pid, buffer: make([]byte, 4096)} }
