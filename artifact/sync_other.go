//go:build !unix

package artifact

func syncDir(string) error { return nil }
