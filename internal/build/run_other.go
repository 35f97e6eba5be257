//go:build !unix

package build

import (
	"context"
	"os/exec"
)

// runCommand runs a command, which ends with the context.
func runCommand(ctx context.Context, cmd *exec.Cmd) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	return cmd.Wait()
}

// guardDirectory does nothing: on this system a directory stays if this process is killed.
func guardDirectory(string) error { return nil }

func releaseDirectory(string) error { return nil }
