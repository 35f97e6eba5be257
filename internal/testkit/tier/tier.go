// Package tier decides how much of a long test runs. `go test -short` runs only the short tests, and `go test` small
// instances of the long ones. `go test` with LOCKSTEP_FULL=1, as `make test-all` runs it, runs everything.
package tier

import (
	"os"
	"testing"
)

// Full reports whether long tests run in full.
func Full() bool { return os.Getenv("LOCKSTEP_FULL") != "" }

// Pick returns the size of a test: small, or full if long tests run in full.
func Pick[T any](small, full T) T {
	if Full() {
		return full
	}
	return small
}

// OnlyFull skips a test that has no small instance, unless long tests run in full.
func OnlyFull(t testing.TB, why string) {
	t.Helper()
	if !Full() {
		t.Skipf("%s: LOCKSTEP_FULL=1 runs it", why)
	}
}

// NotShort skips a test under -short, in which all tests of the root module together take some twenty seconds.
func NotShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes too long for -short")
	}
}

// Some skips the table case with this index, unless long tests run in full. It keeps one case of every few, counted
// from the first.
func Some(t testing.TB, index, every int) {
	t.Helper()
	if index%every != 0 {
		OnlyFull(t, "one of the cases that are left out")
	}
}
