// Package scratch creates directories for files that are useless after the process has ended. A directory is locked
// until its process ends, however it ends. The next process that creates a directory beside it removes the directory of
// a killed process.
package scratch

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/lockstep-go/lockstep/internal/filelock"
)

// Dir is a directory that belongs to this process.
type Dir struct {
	Path string
	lock *os.File // the directory itself, open
}

// begins is the prefix of the names of all such directories, and of no other files.
const begins = "lockstep-files-"

// attempts is the number of attempts with another name. An attempt fails if another process removes the directory
// before it is locked, because it looks abandoned.
const attempts = 100

// New creates a directory in root, or in the directory for temporary files, with name as a part of its name. It removes
// directories there whose processes have ended, and ignores errors of that.
func New(root, name string) (*Dir, error) {
	if root == "" {
		root = os.TempDir()
	}
	if filelock.Supported { // without locks, abandoned directories stay
		sweep(root)
	}
	var wrong error
	for range attempts {
		path, err := os.MkdirTemp(root, begins+name+"-*")
		if err != nil {
			return nil, err
		}
		var f *Dir
		if f, wrong = lock(path); f != nil {
			return f, nil
		}
	}
	return nil, wrong
}

// Remove removes the directory with all of its contents.
func (d *Dir) Remove() error { return errors.Join(os.RemoveAll(d.Path), d.lock.Close()) }

// sweep removes the abandoned directories.
func sweep(root string) {
	// The only possible error is an invalid pattern, and this one is valid.
	entries, _ := filepath.Glob(filepath.Join(root, begins+"*"))
	for _, path := range entries {
		if f, _ := lock(path); f != nil {
			_ = f.Remove()
		}
	}
}

// lock locks a directory, unless another process has locked or removed it.
func lock(path string) (*Dir, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	is, err := f.Stat()
	there, gone := os.Lstat(path)
	if err := errors.Join(err, gone); err != nil || !os.SameFile(is, there) || !is.IsDir() {
		return nil, errors.Join(err, f.Close())
	}
	return &Dir{Path: path, lock: f}, nil
}
