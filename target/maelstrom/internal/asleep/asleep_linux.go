package asleep

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"syscall"
	"unsafe"
)

// Known reports that this platform is supported.
const Known = true

// Asleep reports whether the process is alive and all its threads slept at one moment during the call. Asleep calls
// between, which may be nil, between the two samples, and that moment is before between returns. A buffer that between
// finds empty was empty while all threads slept, if no other process fills it.
func (w *Watcher) Asleep(between func() bool) bool {
	var ok bool
	if w.first, ok = w.sample(w.first[:0]); !ok {
		return false
	}
	if between != nil && !between() {
		return false
	}
	if w.last, ok = w.sample(w.last[:0]); !ok {
		return false
	}
	return slices.Equal(w.first, w.last)
}

// sample records all threads of the process and of its children, as long as they sleep.
func (w *Watcher) sample(into []thread) ([]thread, bool) {
	processes := []int{w.pid}
	for len(processes) > 0 {
		pid := processes[0]
		processes = processes[1:]
		dir := "/proc/" + strconv.Itoa(pid) + "/task/"
		tasks, err := os.ReadDir(dir)
		if err != nil && pid == w.pid {
			return into, false // it has ended
		}
		for _, t := range tasks {
			status := w.read(dir + t.Name() + "/status")
			if status == nil {
				return into, false // it ended just now: sample again
			}
			id, switches, state := parse(status)
			sleeps := bytes.IndexByte([]byte("SZXITt"), state) >= 0
			if ended := state == 'Z' || state == 'X'; !sleeps || ended && id == w.pid {
				return into, false
			}
			if bytes.HasPrefix(w.read(dir+t.Name()+"/syscall"), []byte("running")) {
				return into, false // about to sleep, or just woken: it is still on a CPU
			}
			into = append(into, thread{id, switches})
			for _, c := range bytes.Fields(w.read(dir + t.Name() + "/children")) {
				if n, err := strconv.Atoi(string(c)); err == nil {
					processes = append(processes, n)
				}
			}
		}
	}
	return into, true
}

// read reads a small file; the result is valid until the next call.
func (w *Watcher) read(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	n := 0
	for n < len(w.buffer) {
		k, err := f.Read(w.buffer[n:])
		n += k
		if err == io.EOF || k == 0 {
			break
		}
		if err != nil {
			return nil
		}
	}
	return w.buffer[:n]
}

// parse parses the kernel's status of a thread: its state is one letter. A zombie (Z) counts as asleep; a thread that
// waits for a disk (D) does not.
func parse(status []byte) (id int, switches uint64, state byte) {
	for line := range bytes.Lines(status) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch string(key) {
		case "State":
			if len(value) > 0 {
				state = value[0]
			}
		case "Pid":
			id, _ = strconv.Atoi(string(value))
		case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
			n, _ := strconv.ParseUint(string(value), 10, 64)
			switches += n
		}
	}
	return id, switches, state
}

// Waiting returns the number of unread bytes in a pipe, seen from either end.
func Waiting(pipe *os.File) (int, error) {
	control, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int32
	var failed syscall.Errno
	err = control.Control(func(fd uintptr) {
		_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	})
	if err == nil && failed != 0 {
		err = os.NewSyscallError("ioctl", failed)
	}
	return int(n), err
}
