// Package outside is what tests need beside Go and this repository. Where it is missing, a test
// is skipped with the reason; where LOCKSTEP_STRICT is set, as make test does, it fails.
package outside

import (
	"os"
	"os/exec"
	"testing"
)

// Strict reports whether nothing may be skipped.
func Strict() bool { return os.Getenv("LOCKSTEP_STRICT") != "" }

// Program is the path of a program that a test needs.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "NOT TESTED: %s is not installed, see make setup", name)
	}
	return path
}

// Programs are several that a test needs.
func Programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		Program(t, name)
	}
}

// Missing ends a test that lacks something.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if Strict() {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
