//go:build unix

package artifact

import (
	"io/fs"
	"sync"
	"syscall"
)

// umask is the process's file mode creation mask. It is read once: reading it changes it for a moment, in which another
// goroutine may create a file.
var umask = sync.OnceValue(func() fs.FileMode {
	m := syscall.Umask(0)
	syscall.Umask(m)
	return fs.FileMode(m)
})
