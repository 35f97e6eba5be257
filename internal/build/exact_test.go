package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep/target"
)

// A program that needs the overlay of Go is built with it, and kept beside the one without.
func TestExact(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the standard library with the overlay")
	}
	dir, cache := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module program\n\ngo 1.25\n",
		"main.go":  "package main\n\nfunc main() { println(kind()) }\n",
		"rough.go": "//go:build !lockstep_overlay\n\npackage main\n\nfunc kind() string { return \"rough\" }\n",
		"exact.go": "//go:build lockstep_overlay\n\npackage main\n\nimport \"runtime\"\n\nfunc kind() string {\n" +
			"\truntime.LockstepSetNode(3)\n\treturn \"exact\"[:2+runtime.LockstepNode()]\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, exact := range []bool{false, true} {
		want := map[bool]string{false: "rough\n", true: "exact\n"}[exact]
		for range 2 { // the second time from the cache
			b := Builder{Cache: cache, BestEffort: !exact}
			file, err := b.Program(t.Context(), target.Program{Name: dir, Package: dir, Exact: true}, "")
			if err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), file).CombinedOutput(); err != nil || string(out) != want {
				t.Errorf("%s: %q, %v, want %q", file, out, err, want)
			}
		}
	}
	if files, _ := filepath.Glob(filepath.Join(cache, "*-*")); len(files) != 2 {
		t.Errorf("kept are %v", files)
	}
}
