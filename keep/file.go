package keep

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// WriteFile writes a file so that what stands under its name is always whole, and makes its
// folder where that is missing.
func WriteFile(file string, content func(io.Writer) error) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".lockstep-*")
	if err != nil {
		return err
	}
	err = errors.Join(content(f), f.Chmod(0o666&^umask()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
