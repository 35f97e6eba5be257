//go:build unix

package cli

import (
	"fmt"
	"syscall"

	"github.com/lockstep-go/lockstep/internal/child"
)

// become replaces this process by another program, which takes over its output, input, signals and exit status.
func (e *Env) become(file string, env []string) error {
	child.End()
	return fmt.Errorf("%s cannot be run: %w", file, syscall.Exec(file, append([]string{e.Self}, e.args...), env))
}
