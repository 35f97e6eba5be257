package lockstep_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitecture checks the page ARCHITECTURE.md: it has at most 12 KB, and all that it names exists. Names are
// between backticks: files, directories (with * at the end for all below), and exported names, of the package in the
// directory before the dot or of this package.
func TestArchitecture(t *testing.T) {
	page, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(page) > 12<<10 {
		t.Errorf("ARCHITECTURE.md has %d bytes, allowed are %d", len(page), 12<<10)
	}
	commands := []string{"exec", "lockstep copy", "lockstep go", "make bench", "program"} // not names of files or of Go
	dir := regexp.MustCompile(`^[a-z][a-z/]*$`)
	exported := regexp.MustCompile(`^(?:([a-z/]+)\.)?([A-Z]\w*)(?:\.([A-Z]\w*))?$`)
	names := regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 90 {
		t.Errorf("only %d names were read", len(names))
	}
	for _, n := range names {
		name := n[1]
		m := exported.FindStringSubmatch(name)
		switch {
		case name == "." || slices.Contains(commands, name):
		case name == "synctest.Wait": // of the standard library
		case m != nil:
			for _, part := range m[2:] {
				if part != "" && !declares(t, m[1], part) {
					t.Errorf("there is no %s: no file of its package declares %s", name, part)
				}
			}
		case strings.HasSuffix(name, ".go") || dir.MatchString(strings.TrimSuffix(name, "/*")):
			if _, err := os.Stat(strings.TrimSuffix(name, "/*")); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s is neither a file nor an exported name", name)
		}
	}
}

// declares reports whether a file of a package, given by its directory, declares an exported name.
func declares(t *testing.T, dir, name string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |\t(\w+, )*|const |var )` + name + `\b`)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return !strings.HasSuffix(file, "_test.go") && line.Match(text)
	})
}
