//go:build !linux

package bubble

// sameRoot is a path that no directory has: there is no name that is the same in every process.
const sameRoot = "\x00"

// samePath returns the path of the directory.
func samePath(dir string) string { return dir }
