package page

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/golden"
)

// The test fails if a section of the page differs from the written text.
func TestSection(t *testing.T) {
	if golden.Rewrite() {
		t.Skip("pages are not compared")
	}
	for _, c := range []struct {
		what, page string
		fails      bool
	}{
		{"the same", "a\n<!-- table -->\n| 1 |\n<!-- end of table -->\nb\n", false},
		{"another figure", "a\n<!-- table -->\n| 2 |\n<!-- end of table -->\nb\n", true},
		{"no end", "a\n<!-- table -->\n| 1 |\n", true},
		{"no section", "a\n| 1 |\n", true},
	} {
		file := filepath.Join(t.TempDir(), "page.md")
		if err := os.WriteFile(file, []byte(c.page), 0o666); err != nil {
			t.Fatal(err)
		}
		inner := &complaints{TB: t}
		done := make(chan struct{})
		go func() { // because a fatal failure ends its goroutine
			defer close(done)
			Section(inner, file, "table",
				func(w io.Writer) error { _, err := io.WriteString(w, "| 1 |\n"); return err })
		}()
		if <-done; inner.failed != c.fails {
			t.Errorf("%s: failed is %v", c.what, inner.failed)
		}
	}
}
