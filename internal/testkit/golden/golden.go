// Package golden compares the output of tests with golden files. The flag -rewrite of go test, which the datadriven
// tests define, rewrites all these files.
package golden

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/cockroachdb/datadriven" // defines the flag
	"github.com/google/go-cmp/cmp"
)

// Rewrite reports whether the tests rewrite golden files.
func Rewrite() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// Check compares a written text with a file of testdata/golden.
func Check(t testing.TB, file string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "golden", file)
	if Rewrite() {
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("%s differs (-rewrite makes it again):\n%s", file, d)
	}
}
