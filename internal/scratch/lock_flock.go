//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package scratch

import (
	"os"
	"syscall"
)

// locks says whether there are locks here.
const locks = true

// lock locks an open file for as long as it is open, or fails at once.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
