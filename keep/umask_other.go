//go:build !unix

package keep

import "io/fs"

func umask() fs.FileMode { return 0 }
