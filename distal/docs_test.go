package distal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
)

// TestDocs runs the programs in the documentation: they load, are formatted, and their tests end as they say.
func TestDocs(t *testing.T) {
	files, err := filepath.Glob("../docs/reference/distal*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no documentation", err)
	}
	programs := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "```distal\n")[1:] {
			src, _, _ := strings.Cut(part, "```")
			programs++
			p, remarks := distal.Load(src)
			if p == nil {
				t.Fatalf("%s: %v", file, remarks)
			}
			if f, _ := distal.Fmt(src); f.Changed {
				t.Errorf("%s: a program is not formatted:\n%s", file, f.Text)
			}
			for _, test := range p.Tests {
				r, _ := distal.Explore(src, distal.ExploreOptions{Options: distal.Options{Test: test.Name}})
				if want := map[string]string{"pass": explore.Pass, "violation": explore.Fail}[test.Expect]; r.Verdict != want {
					t.Errorf("%s: test %s ends with %s, want %s", file, test.Name, r.Verdict, want)
				}
			}
		}
	}
	if programs == 0 {
		t.Error("the documentation holds no program")
	}
}
