//go:build unix

package cli

import (
	"fmt"
	"syscall"

	"github.com/lockstep-go/lockstep/internal/child"
)

// become makes another program of this process: what it prints and reads, the signals it
// gets and its exit status are its own.
func (e *Env) become(file string, env []string) error {
	child.End()
	return fmt.Errorf("%s cannot be run: %w", file, syscall.Exec(file, append([]string{e.Self}, e.args...), env))
}
