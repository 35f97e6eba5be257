//go:build !unix

package stretch

import "os/exec"

// apart is nothing where signals do not come from a terminal.
func apart(*exec.Cmd) {}
