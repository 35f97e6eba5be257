//go:build unix

package build

import (
	"context"
	"errors"
	"os/exec"

	"github.com/lockstep-go/lockstep/internal/child"
)

// runCommand runs a command with all that it starts. They end with the context, and with this process however it ends.
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

// guardDirectory has a directory removed when this process ends, however it does.
func guardDirectory(dir string) error { return child.Folder(dir) }

// releaseDirectory takes that back.
func releaseDirectory(dir string) error { return child.Keep(dir) }
