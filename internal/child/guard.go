//go:build unix

package child

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// script reads "+group pid" and "+directory path", and the same with a minus to withdraw them. When its input ends, it
// kills the remaining groups and removes the remaining directories. It takes names of directories unquoted, so that
// they may contain any character but a line feed.
const script = `
trap '' HUP INT TERM
left=$(printf '\n')
while IFS= read -r line; do
	case $line in
	+*) left="$left
${line#+}" ;;
	-*) left=$(printf '%s\n' "$left" | grep -Fxv -- "${line#-}") ;;
	esac
done
printf '%s\n' "$left" | while IFS= read -r line; do
	case $line in "group "*) kill -s KILL -- "-${line#group }" 2>/dev/null ;; esac
done
printf '%s\n' "$left" | while IFS= read -r line; do
	case $line in "directory "*) rm -rf -- "${line#directory }" ;; esac
done
`

// guard is the guard of this program; it starts with the first child.
var guard struct {
	sync.Mutex
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// notify sends a line to the guard, and starts the guard if it is not running.
func notify(line string) error {
	if strings.Contains(line, "\n") {
		return fmt.Errorf("child: a name with a line feed: %q", line)
	}
	guard.Lock()
	defer guard.Unlock()
	if guard.pipe == nil {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		pipe, err := cmd.StdinPipe()
		if err != nil {
			return fmt.Errorf("child: %w", err)
		}
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("child: no guard: %w", err)
		}
		guard.cmd, guard.pipe = cmd, pipe
	}
	_, err := fmt.Fprintln(guard.pipe, line)
	return err
}

// End ends the guard and everything that it guards, and waits for it. The next child starts another one. A program that
// replaces itself by another one calls End first. Otherwise it would leave a process that no process waits for.
func End() {
	guard.Lock()
	defer guard.Unlock()
	if guard.pipe != nil {
		_, _ = guard.pipe.Close(), guard.cmd.Wait()
		guard.pipe = nil
	}
}

// Dir lets the guard remove a directory when this program ends, however it ends, until Keep.
func Dir(path string) error { return notify("+directory " + path) }

// Keep withdraws a call of Dir.
func Keep(path string) error { return notify("-directory " + path) }
