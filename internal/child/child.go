//go:build unix

package child

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Child is a started program.
type Child struct {
	cmd  *exec.Cmd
	tail tail
	done chan struct{}
	why  string
}

// Start starts a command as a child. Tail returns the end of its output, unless the command redirects it.
func Start(cmd *exec.Cmd) (*Child, error) {
	c := &Child{cmd: cmd, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &c.tail
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &c.tail
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	if err := notify(fmt.Sprintf("+group %d", c.Pid())); err != nil {
		_ = c.signal(syscall.SIGKILL)
		_ = cmd.Wait()
		return nil, err
	}
	go c.watch()
	return c, nil
}

// watch records how the child ended, and kills the processes that it left behind.
func (c *Child) watch() {
	err := c.cmd.Wait()
	c.why = c.cmd.ProcessState.String()
	if err != nil && c.cmd.ProcessState.Success() {
		c.why = err.Error()
	}
	_ = c.signal(syscall.SIGKILL)
	_ = notify(fmt.Sprintf("-group %d", c.Pid()))
	close(c.done)
}

// Pid returns the ID of the process and of its group.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done returns a channel that is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Why returns how the child ended, as text, once Done is closed.
func (c *Child) Why() string { return c.why }

// Succeeded reports, once Done is closed, whether the child ended with status 0.
func (c *Child) Succeeded() bool { return c.cmd.ProcessState.Success() }

// Kill kills the child at once, with all processes that it started, and waits until it is gone.
func (c *Child) Kill() {
	_ = c.signal(syscall.SIGKILL)
	<-c.done
}

// Interrupt requests the child to end.
func (c *Child) Interrupt() { _ = c.signal(syscall.SIGTERM) }

// Pause pauses the child's processes until Thaw.
func (c *Child) Pause() error { return c.signal(syscall.SIGSTOP) }

// Thaw lets a paused child continue.
func (c *Child) Thaw() error { return c.signal(syscall.SIGCONT) }

// signal sends a signal to the child's group.
func (c *Child) signal(s syscall.Signal) error {
	if err := syscall.Kill(-c.Pid(), s); err != nil {
		return os.NewSyscallError("kill", err)
	}
	return nil
}

// Tail returns the end of the child's output, at most tailBytes.
func (c *Child) Tail() string { return c.tail.String() }

// tailBytes is the number of bytes of a child's output that are kept.
const tailBytes = 8 << 10

// tail keeps the end of the written bytes.
type tail struct {
	mutex sync.Mutex
	bytes []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.bytes = append(t.bytes, p...)
	if len(t.bytes) > 2*tailBytes {
		t.bytes = append(t.bytes[:0], t.bytes[len(t.bytes)-tailBytes:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(t.bytes[max(0, len(t.bytes)-tailBytes):])
}
