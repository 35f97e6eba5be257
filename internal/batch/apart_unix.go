//go:build unix

package batch

import (
	"os/exec"
	"syscall"
)

// apart keeps the signals of a terminal from a program. The process that started the program gets them, and ends it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
