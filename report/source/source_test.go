package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/coverage/code"
)

// A block inside of another one has its own color, and text outside of all blocks has none.
func TestPieces(t *testing.T) {
	const text = "func f() {\n\tg(func() {\n\t\th()\n\t})\n}\n\nvar x int\n"
	f := code.File{
		Blocks: []code.Block{
			{StartLine: 1, StartColumn: 10, EndLine: 5, EndColumn: 2},
			{StartLine: 2, StartColumn: 11, EndLine: 4, EndColumn: 3},
			{StartLine: 90, StartColumn: 1, EndLine: 99, EndColumn: 1}, // of another version of the file
		},
		States: []code.State{code.WithoutFaults, code.UnderFaults, code.Never},
	}
	var got []string
	for _, p := range pieces(text, &f) {
		got = append(got, p.Class+"="+p.Text)
	}
	want := "=func f() |without-faults={\n\tg(func() |under-faults={\n\t\th()\n\t}|without-faults=)\n}|=\n\nvar x int\n"
	if strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", strings.Join(got, "|"), want)
	}
}

// A file is found in the innermost module that has it; otherwise the page says why it is missing.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	modules := map[string]string{"example.com/a": filepath.Join(dir, "outer"), "example.com/a/b": filepath.Join(dir, "b")}
	file := filepath.Join(dir, "b", "c", "x.go")
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("package c\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := read("example.com/a/b/c/x.go", modules); err != nil || string(text) != "package c\n" {
		t.Errorf("%q, %v", text, err)
	}
	for name, want := range map[string]string{
		"example.com/a/x.go": "its source is not in " + modules["example.com/a"],
		"example.com/z/x.go": "its module is not known",
	} {
		if _, err := read(name, modules); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
