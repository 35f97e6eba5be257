//go:build !unix

package cli

import (
	"errors"
	"os"
	"os/exec"
)

// become runs another program instead of this one. An interrupt reaches both, since they share a console.
func (e *Env) become(file string, env []string) error {
	cmd := exec.Command(file, e.args...)
	cmd.Args[0], cmd.Env = e.Self, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		os.Exit(statusClean)
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	}
	return err
}
