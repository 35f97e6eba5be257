package build

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/lockstep-go/lockstep/internal/filelock"
)

// lockEvery is the time between two attempts to get a lock.
const lockEvery = 100 * time.Millisecond

// lock waits until no other process builds the program of a name. A process that ends gives up its lock, however it
// ends. A lock that is gone because its holder has removed the file guards nothing any more, but then the program is
// there, or its build has failed.
func (j *job) lock(ctx context.Context, name string) (unlock func(), err error) {
	dir := filepath.Join(j.cache, "locks")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, name)
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	for waits := 0; filelock.Try(f) != nil; waits++ {
		if waits == 0 {
			j.log("another process is building %s; waiting for it", j.name())
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(lockEvery):
		}
	}
	return func() {
		_ = os.Remove(file)
		_ = f.Close()
	}, nil
}
