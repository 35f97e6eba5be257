package wordlist

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

var tree = flag.String("tree", "../..", "the work tree to read, to count the words of another commit")

// TestRepository checks the files of the repository. With -v it prints the findings by word and by directory.
func TestRepository(t *testing.T) {
	tier.NotShort(t)
	out, err := exec.Command("git", "-C", *tree, "ls-files", "-z").Output()
	if err != nil {
		t.Skip("the files of the repository are those that git lists, and git says: ", err)
	}
	byRule, byDir, files := map[string]int{}, map[string]int{}, 0
	for file := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(*tree, file))
		if !Applies(file) || os.IsNotExist(err) { // removed and not yet committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		files++
		for _, f := range Check(file, string(text)) {
			byRule[f.Rule]++
			byDir[path.Dir(file)]++
			t.Error(f)
		}
	}
	if files < 1000 {
		t.Errorf("only %d files were read", files)
	}
	for _, counts := range []map[string]int{byRule, byDir} {
		total := 0
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			t.Logf("%6d %s", counts[key], key)
			total += counts[key]
		}
		t.Logf("%6d in total", total)
	}
}

func TestCheck(t *testing.T) {
	long := strings.Repeat("x", maxColumns+1)
	for _, c := range []struct {
		file, text string
		want       []string
	}{
		{"a/a.go", "// The leader reports it.\nvar reader = quietNaN", []string{"a/a.go:2: quiet"}},
		{"a/a.go", "func TestTooManyLIARS() {}\n// nobody Tells", []string{"a/a.go:1: liar, lie", "a/a.go:2: nobody, who", "a/a.go:2: tell, told"}},
		{"a/a.md", "It stands\nstill, and goes on.", []string{"a/a.md:2: for ever, goes on"}},
		{"a/a.go", "the fault lies between them; it tries to send", nil},
		{"a/a.go", "it lies; tries", []string{"a/a.go:1: liar, lie", "a/a.go:1: tries"}},
		{"a/a.go", "x := strategy.Apart{}", []string{"a/a.go:1: strategy.Apart"}},
		{"strategy/a.go", "type Apart struct{}", []string{"strategy/a.go:1: strategy.Apart"}},
		{"strategy/a.go", "type Apartment struct{}", nil},
		{"a/a.go", long + "\n" + long[1:], []string{"a/a.go:1: long line"}},
		{"a/a.md", long + "\n| " + long + "\n```\n" + long + "\n```\nhttps://" + long, []string{"a/a.md:1: long line"}},
		{"a/a.md", "    " + long, nil},
		{"a/a.go", "x := `\n" + long + "`\n// Output:\n// " + long + "\n\n// " + long, []string{"a/a.go:6: long line"}},
		{"target/memberlist/a.go", "suspect", nil},
		{"target/a.go", "suspect", []string{"target/a.go:1: suspects"}},
	} {
		var got []string
		for _, f := range Check(c.file, c.text) {
			got = append(got, strings.TrimSuffix(f.String(), ": "+f.Want))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("Check(%q, %q) = %q, want %q", c.file, c.text, got, c.want)
		}
	}
}

func TestApplies(t *testing.T) {
	for file, want := range map[string]bool{
		"docs/a.md": true, "Makefile": true, ".ci/run": true, "a/a.go": true, "go.sum": false, "a/testdata/a.trace": false,
		"internal/wordlist/table.go": false,
	} {
		if Applies(file) != want {
			t.Errorf("Applies(%q) = %v", file, !want)
		}
	}
}
