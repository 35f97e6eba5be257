package page

import (
	"os"
	"path/filepath"
	"testing"
)

// Pages that a reader reads from the beginning to the end are short. Reference and evidence are looked up.
func TestSizes(t *testing.T) {
	const root = "../../../"
	for _, c := range []struct {
		pages string
		most  int64
	}{
		{"README.md", 6 << 10},
		{"docs/tutorials/*.md", 12 << 10},
		{"docs/how-to/*.md", 12 << 10},
		{"docs/concepts/*.md", 12 << 10},
		{"reports/*/README.md", 12 << 10},
	} {
		files, err := filepath.Glob(root + c.pages)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no pages: %v", c.pages, err)
		}
		for _, file := range files {
			switch info, err := os.Stat(file); {
			case err != nil:
				t.Error(err)
			case info.Size() > c.most:
				t.Errorf("%s has %d bytes, allowed are %d", file, info.Size(), c.most)
			}
		}
	}
}
