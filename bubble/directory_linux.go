package bubble

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// sameFD is the descriptor that has the directory of the current deployment. It is below the usual limit of 1024, and
// above what programs open.
const sameFD = 1000

// sameRoot is the path of the directory of the current deployment, in every process.
var sameRoot = fmt.Sprintf("/proc/self/fd/%d", sameFD)

// same says whether sameRoot names a directory.
var same struct {
	sync.Mutex
	set bool
}

// samePath makes sameRoot name a directory, and returns the path by which nodes name it. It is the directory's own path
// if the descriptor belongs to the program under test, or if there is no /proc. A process makes one run at a time, so
// one name suffices for its deployments.
func samePath(dir string) string {
	same.Lock()
	defer same.Unlock()
	var now, want syscall.Stat_t
	err := syscall.Fstat(sameFD, &now)
	switch {
	case err == nil && !same.set:
		return dir
	case syscall.Stat(dir, &want) != nil:
		return dir
	case same.set && now.Dev == want.Dev && now.Ino == want.Ino: // names of temporary directories recur
		return sameRoot
	}
	f, err := os.Open(dir)
	if err != nil {
		return dir
	}
	defer f.Close()
	if err := syscall.Dup3(int(f.Fd()), sameFD, syscall.O_CLOEXEC); err != nil {
		return dir
	}
	if _, err := os.Stat(sameRoot); err != nil {
		_ = syscall.Close(sameFD)
		same.set = false
		return dir
	}
	same.set = true
	return sameRoot
}
