//go:build unix

package stretch

import (
	"os/exec"
	"syscall"
)

// apart keeps the signals of a terminal from a program: who started it hears them, and ends it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
