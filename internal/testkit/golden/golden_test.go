package golden_test

import (
	"io"
	"os"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/golden"
)

// failures counts the errors of a check.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Errorf(string, ...any) { f.n++ }
func (f *failures) Helper()               {}

func TestCheckNoticesADifference(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("testdata/golden", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/golden/a.txt", []byte("right"), 0o666); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"right": 0, "wrong": 1} {
		f := &failures{TB: t}
		golden.Check(f, "a.txt", func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
		if f.n != want && !golden.Rewrite() {
			t.Errorf("%q: %d differences, want %d", text, f.n, want)
		}
	}
}
