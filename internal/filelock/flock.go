//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// Package filelock locks open files against other processes, where the system can.
package filelock

import (
	"os"
	"syscall"
)

// Supported says whether there are locks on this system.
const Supported = true

// Try locks an open file or directory for as long as it is open, or fails at once.
func Try(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
