//go:build !unix

package batch

import "os/exec"

// apart does nothing on systems where signals do not come from a terminal.
func apart(*exec.Cmd) {}
