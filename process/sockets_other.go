//go:build !linux

package process

import "net"

// listening is not available here: links listen always.
func listening() []net.TCPAddr { return nil }

// owner is not available here.
func owner(_, _ *net.TCPAddr, _ func(pid int) bool) int { return 0 }

// dials is not available here.
func dials([]int, []*net.TCPAddr) []dialed { return nil }

// groupOf returns the process itself here.
func groupOf(pid int) int { return pid }
