//go:build !linux

package cli

// addressSpace returns this process's limit on address space; 0: there is no limit, or it is unknown.
func addressSpace() uint64 { return 0 }
