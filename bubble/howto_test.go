package bubble_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/overlay"
)

var fence = regexp.MustCompile("(?ms)^```(\\w+)(?: (file|mend|output)=(\\S+))?\n(.*?)^```$")

// TestHowTo follows docs/test-your-goroutine-program.md: it writes the files as the page shows
// them, mends the program as it says, runs "go test" where it does, and finds what it promises.
// The second door needs the standard library to be built once more, and is tried in strict
// mode only.
func TestHowTo(t *testing.T) {
	if bubble.Exact {
		t.Skip("it is the same with the overlay")
	}
	page, err := os.ReadFile("../docs/test-your-goroutine-program.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, "go.mod", "module example.com/lock\n\ngo 1.26.0\n\nrequire github.com/lockstep-go/lockstep v0.0.0\n\nreplace github.com/lockstep-go/lockstep => "+root+"\n")
	put(t, dir, "go.sum", string(sum))
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	var output string
	ran := 0
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		switch kind, role, name, text := m[1], m[2], m[3], m[4]; {
		case role == "file":
			put(t, dir, name, text)
		case role == "mend":
			mend(t, filepath.Join(dir, name), text)
		case role == "output":
			if !strings.Contains(output, strings.TrimSpace(text)) {
				t.Errorf("the page promises %q, go test printed:\n%s", text, output)
			}
		case kind == "sh" && strings.TrimSpace(text) == "go test":
			ran++
			c := exec.CommandContext(t.Context(), "go", "test", "-count=1", ".")
			c.Dir = dir
			out, err := c.CombinedOutput()
			output = string(out)
			if failed := err != nil; failed != (ran == 1) {
				t.Fatalf("run %d of go test: %v\n%s", ran, err, output)
			}
		case kind == "sh" && strings.TrimSpace(text) == "lockstep go test" && os.Getenv("LOCKSTEP_STRICT") != "":
			var out strings.Builder
			t.Chdir(dir)
			if code := overlay.Main(t.Context(), []string{"test", "-count=1", "."}, nil, &out, &out); code != 0 {
				t.Errorf("lockstep go test: %d\n%s", code, out.String())
			}
		}
	}
	if ran != 2 {
		t.Errorf("the page ran go test %d times, want a failing and a passing one", ran)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// words is a line with single spaces.
func words(line string) string { return strings.Join(strings.Fields(line), " ") }

// mend puts lines in the place of the one that begins like their first or last: the lines of
// the page show what to change and what is new beside it.
func mend(t *testing.T, file, text string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, line := range lines {
		key := words(line)
		key = key[:min(len(key), 20)]
		old := strings.Split(string(data), "\n")
		for i := range old {
			if strings.HasPrefix(words(old[i]), key) {
				old[i] = strings.Join(lines, "\n")
				put(t, filepath.Dir(file), filepath.Base(file), strings.Join(old, "\n"))
				return
			}
		}
	}
	t.Fatalf("%s has no line for %q", file, text)
}
