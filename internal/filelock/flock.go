//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// Package filelock locks open files against other processes, on systems that support it.
package filelock

import (
	"os"
	"syscall"
)

// Supported reports whether this system has file locks.
const Supported = true

// Try locks an open file or directory until it is closed, or fails at once.
func Try(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
