// Package outside finds programs that tests need besides Go and this repository. If one is missing, the test is skipped
// with the reason. If LOCKSTEP_STRICT is set, as make test does, the test fails.
package outside

import (
	"os"
	"os/exec"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// Strict reports whether no test may be skipped.
func Strict() bool { return os.Getenv("LOCKSTEP_STRICT") != "" }

// Program returns the path of a program that a test needs.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "NOT TESTED: %s is not installed, see make setup", name)
	}
	return path
}

// Programs requires several programs.
func Programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		Program(t, name)
	}
}

// JVM requires the programs of a test that starts servers in JVMs. Such tests run only where long tests run in full.
func JVM(t testing.TB) {
	t.Helper()
	tier.OnlyFull(t, "NOT TESTED: it starts servers in JVMs")
	Programs(t, "java", "javac", "mvn")
}

// Missing ends a test that lacks a requirement.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if Strict() {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
