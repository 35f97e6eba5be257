package asleep

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// program answers each line after some work by two processes, and then waits for the next.
const program = `while read line; do i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; echo "$(cat /dev/null; echo $line)"; done`

// A process does not count as asleep before it has answered, and does afterwards.
func TestAnswersFirst(t *testing.T) {
	tier.NotShort(t)
	cmd := exec.Command("/bin/sh", "-c", program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	watcher := New(cmd.Process.Pid)
	answer := make([]byte, 10)
	for i := range 200 {
		if _, err := io.WriteString(in, "x\n"); err != nil {
			t.Fatal(err)
		}
		for !watcher.Asleep(nil) {
			continue
		}
		if n, err := Waiting(out); n != 2 || err != nil {
			t.Fatalf("line %d: asleep with %d bytes of 2 answered, %v", i, n, err)
		}
		if n, err := out.Read(answer); n != 2 || err != nil {
			t.Fatal(n, err)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A running thread is detected, and a process that has ended is not asleep.
func TestRunning(t *testing.T) {
	if New(os.Getpid()).Asleep(nil) {
		t.Error("this test sleeps")
	}
	if New(1 << 30).Asleep(nil) {
		t.Error("a process that does not exist sleeps")
	}
	w := New(os.Getpid())
	runtime.LockOSThread() // /proc/thread-self is the thread that opens the file: it must read it, too
	defer runtime.UnlockOSThread()
	if id, _, state := parse(w.read("/proc/thread-self/status")); id == 0 || state != 'R' {
		t.Errorf("thread %d is in state %c while it runs", id, state)
	}
}
