package lockstep_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The README's test of a lock, pasted into an empty module, fails as the README says.
func TestREADME(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED, the go command is not on the path: the README's test was not run")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, ok := strings.Cut(string(readme), "```go\n")
	code, _, ok2 := strings.Cut(code, "```")
	if !ok || !ok2 {
		t.Fatal("the README has no Go code")
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod := "module lock\n\ngo 1.26.0\n\nrequire github.com/lockstep-go/lockstep v0.0.0\n\nreplace github.com/lockstep-go/lockstep => " + root + "\n"
	for name, text := range map[string]string{"go.mod": mod, "lock_test.go": code} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-mod=mod", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	text := string(out)
	for _, want := range []string{"--- FAIL: TestLock", "FAIL one owner at step", "both nodes have the lock", "go test -run '^TestLock$' -lockstep.replay='testdata/lockstep/TestLock/"} {
		if err == nil || !strings.Contains(text, want) {
			t.Errorf("%q is missing (%v) in\n%s", want, err, text)
		}
	}
	if stored, _ := filepath.Glob(filepath.Join(dir, "testdata/lockstep/TestLock/*.trace")); len(stored) != 1 {
		t.Errorf("stored traces: %q", stored)
	}
}
