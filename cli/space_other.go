//go:build !linux

package cli

// addressSpace is the most address space that this process may take; 0: there is no limit, or it is not known.
func addressSpace() uint64 { return 0 }
