package process

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/lockstep-go/lockstep/internal/scratch"
)

// making holds a *sync.Mutex for each cache directory that this process has requested.
var making sync.Map

// Cached returns a directory of that name in the user's cache. If the directory is missing, fill creates its content:
// once per process, even if several goroutines request it. No caller ever sees an incomplete directory.
func Cached(name string, fill func(dir string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no directory for what servers need: %w", err)
	}
	root := filepath.Join(cache, "lockstep", "servers")
	dir := filepath.Join(root, name)
	lock, _ := making.LoadOrStore(dir, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	work, err := scratch.New(root, "making") // the next call removes what a killed process leaves
	if err != nil {
		return "", err
	}
	defer func() { _ = work.Remove() }()
	made := filepath.Join(work.Path, name)
	if err := os.Mkdir(made, 0o755); err != nil {
		return "", err
	}
	if err := fill(made); err != nil {
		return "", err
	}
	if err := os.Rename(made, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return "", err
		} // another process was faster
	}
	return dir, nil
}

// notices is where Notify writes.
var notices io.Writer = os.Stderr

// Notify prints a line about a slow operation that happens once, such as building a server.
func Notify(format string, arguments ...any) {
	_, _ = fmt.Fprintf(notices, "lockstep: "+format+"\n", arguments...) // the output may be closed
}
