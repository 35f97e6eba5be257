//go:build !unix

package artifact

import "io/fs"

func umask() fs.FileMode { return 0 }
