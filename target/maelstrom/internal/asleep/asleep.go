// Package asleep tells whether a process waits for something to happen.
//
// Two looks are taken. In each, every thread of the process, and of the processes it started,
// must sleep and be on no processor (a thread is marked as asleep a little before it is), and
// between them none may have run: its count of context switches is the same.
// So there was a moment between the two at which all of them slept. What wakes them then comes
// from outside, or from their clocks.
package asleep

// Watcher looks at one process again and again.
type Watcher struct {
	pid         int
	first, last []thread
	buffer      []byte
}

// thread is what one look sees of a thread.
type thread struct {
	id       int
	switches uint64
}

// New makes a watcher of a process.
func New(pid int) *Watcher { return &Watcher{pid: pid, buffer: make([]byte, 4096)} }
