//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package scratch

import "os"

// locks says whether there are locks here. Without them folders that were left stay.
const locks = false

// lock does nothing.
func lock(*os.File) error { return nil }
