package build

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/lockstep-go/lockstep/internal/filelock"
)

// lockEvery is the time between two attempts to acquire a lock.
const lockEvery = 100 * time.Millisecond

// lock waits until no other process builds the program of a name. A process releases its lock when it ends, however it
// ends. A waiter may acquire a lock whose file the last holder has removed, and which therefore guards nothing. Then
// the program exists, or its build has failed.
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
