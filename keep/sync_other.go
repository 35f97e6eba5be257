//go:build !unix

package keep

func syncDir(string) error { return nil }
