package overlay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func installed(t *testing.T) (goroot, version string) {
	t.Helper()
	goroot, version, err := Installed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return goroot, version
}

// The edits fit the Go that the tests run with, where it is one of those known.
func TestGenerate(t *testing.T) {
	goroot, version := installed(t)
	if !strings.HasPrefix(version, versions[0]) {
		t.Skipf("Go is %s", version)
	}
	dir := t.TempDir()
	index, err := Generate(goroot, version, dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(index)
	if err != nil || !strings.Contains(string(list), "runtime/lockstep.go") {
		t.Fatalf("%s: %v", list, err)
	}
	again, err := Generate(goroot, version, dir)
	if err != nil || again != index {
		t.Errorf("again: %s, %v", again, err)
	}
}

// A Go that looks different is refused, with the place.
func TestRefuse(t *testing.T) {
	goroot, _ := installed(t)
	if _, err := Generate(goroot, "go1.99.1", t.TempDir()); err == nil || !strings.Contains(err.Error(), "go1.99.1") {
		t.Errorf("another version: %v", err)
	}
	root := t.TempDir()
	for name := range edited {
		text, err := os.ReadFile(filepath.Join(goroot, "src", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "runtime/select.go" {
			text = []byte(strings.ReplaceAll(string(text), "cheaprandn(uint32(norder + 1))", "cheaprandn(uint32(norder) + 1)"))
		}
		if err := write(filepath.Join(root, "src", name), string(text)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Generate(root, "go1.26.0", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "runtime/select.go:") || !strings.Contains(err.Error(), `selectgo has 0 times "cheaprandn(uint32(norder + 1))", expected is once`) {
		t.Errorf("changed source: %v", err)
	}
}

func TestTags(t *testing.T) {
	rest, tags := withoutTags([]string{"-v", "-tags", "a,b", "-tags=c", "./...", "-args", "-tags", "x"})
	if got := strings.Join(rest, " ") + "|" + strings.Join(tags, " "); got != "-v ./... -args -tags x|a b c" {
		t.Error(got)
	}
}
