package overlay

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// changed are packages of the standard library that the overlay changes, and one that depends on most of them.
var changed = []string{"runtime", "syscall", "time", "os/signal", "net", "math/rand/v2", "testing/synctest"}

// The overlay compiles for another processor, too. No program is run there.
func TestOtherProcessor(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds half of the standard library")
	}
	goroot, version := installed(t)
	if !known(version) {
		t.Skip("the Go of this machine is not one of those known")
	}
	index, err := Generate(goroot, version, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", index, "-tags", Tag}, changed...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// A system that the overlay is not made for is refused, before anything is built.
func TestOtherSystem(t *testing.T) {
	t.Setenv("GOOS", "darwin")
	tool, err := Installed(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Generate(); err == nil || !strings.HasPrefix(err.Error(), "the overlay of Go is made for linux, and programs are built for darwin here") {
		t.Errorf("%v", err)
	}
}
