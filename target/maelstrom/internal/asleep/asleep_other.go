//go:build !linux

package asleep

import (
	"errors"
	"os"
)

// Known says that it cannot be told here.
const Known = false

// Asleep cannot be told here.
func (w *Watcher) Asleep(func() bool) bool { return false }

// Waiting cannot be told here.
func Waiting(*os.File) (int, error) { return 0, errors.ErrUnsupported }
