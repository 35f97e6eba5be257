// Package scratch makes folders for files that are of no use when the process has ended. One whose process was killed is removed by
// the next that makes one beside it: a folder is locked as long as its process lives, however that ends.
package scratch

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/lockstep-go/lockstep/internal/filelock"
)

// Folder is a folder that belongs to this process.
type Folder struct {
	Path string
	lock *os.File // the folder itself, open
}

// begins is how the names of all folders begin, and of nothing else.
const begins = "lockstep-files-"

// tries is how often another name is tried, when somebody else was quicker: he takes a folder for one that was left before it is locked.
const tries = 100

// New makes a folder in root, or where temporary files are, whose name has a part that is given. Folders there whose processes have ended are
// removed; that one cannot be is no error.
func New(root, name string) (*Folder, error) {
	if root == "" {
		root = os.TempDir()
	}
	if filelock.Supported { // without locks, folders that were left stay
		sweep(root)
	}
	var wrong error
	for range tries {
		path, err := os.MkdirTemp(root, begins+name+"-*")
		if err != nil {
			return nil, err
		}
		var f *Folder
		if f, wrong = take(path); f != nil {
			return f, nil
		}
	}
	return nil, wrong
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error { return errors.Join(os.RemoveAll(f.Path), f.lock.Close()) }

// sweep removes the folders that were left.
func sweep(root string) {
	entries, _ := filepath.Glob(
		filepath.Join(root, begins+"*"),
	) // the pattern is right, and there is nothing else that can go wrong
	for _, path := range entries {
		if f, _ := take(path); f != nil {
			_ = f.Remove()
		}
	}
}

// take locks a folder, unless another process has, or has removed it.
func take(path string) (*Folder, error) {
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
	return &Folder{Path: path, lock: f}, nil
}
