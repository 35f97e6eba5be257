//go:build unix

package build

import (
	"context"
	"errors"
	"os/exec"

	"github.com/lockstep-go/lockstep/internal/child"
)

// runCommand runs a command. The command and all processes that it starts end with the context, and with this process
// however it ends.
func runCommand(ctx context.Context, cmd *exec.Cmd) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := child.Start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-c.Done():
	case <-ctx.Done():
		c.Kill()
		return ctx.Err()
	}
	if !c.Succeeded() {
		return errors.New(c.Why())
	}
	return nil
}

// guardDirectory lets the guard remove a directory when this process ends, however it ends.
func guardDirectory(dir string) error { return child.Dir(dir) }

// releaseDirectory ends the guarding of a directory.
func releaseDirectory(dir string) error { return child.Keep(dir) }
