//go:build unix

package artifact

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the names in a directory survive a crash of the machine, if the file system supports it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
