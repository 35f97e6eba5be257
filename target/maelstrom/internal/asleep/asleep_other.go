//go:build !linux

package asleep

import (
	"errors"
	"os"
)

// Known reports that this platform is not supported.
const Known = false

// Asleep is not supported here.
func (w *Watcher) Asleep(func() bool) bool { return false }

// Waiting is not supported here.
func Waiting(*os.File) (int, error) { return 0, errors.ErrUnsupported }
