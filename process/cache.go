package process

import (
	"fmt"
	"os"
	"path/filepath"
)

// Cached is a folder of that name in the user's cache, filled by a function where it is not
// there. What is half filled is never seen.
func Cached(name string, fill func(folder string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for what servers need: %w", err)
	}
	root := filepath.Join(cache, "lockstep", "servers")
	folder := filepath.Join(root, name)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(root, "making-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, name)
	if err := os.Mkdir(made, 0o755); err != nil {
		return "", err
	}
	if err := fill(made); err != nil {
		return "", err
	}
	if err := os.Rename(made, folder); err != nil {
		if _, there := os.Stat(folder); there != nil {
			return "", err
		} // somebody else was faster
	}
	return folder, nil
}
