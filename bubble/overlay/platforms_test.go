package overlay

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// changed are the packages of the standard library that the overlay changes, except net.
var changed = []string{
	"crypto/internal/sysrand",
	"internal/runtime/maps",
	"math/rand",
	"math/rand/v2",
	"os",
	"os/signal",
	"runtime",
	"syscall",
	"testing/synctest",
	"time",
}

// linuxOnly matches all errors of package net on another Unix: missing constants of sockets, and the type of a device
// number.
var linuxOnly = regexp.MustCompile(
	`undefined: syscall\.(SOCK_NONBLOCK|SOCK_CLOEXEC|TCP_KEEPIDLE|TCP_KEEPINTVL|TCP_KEEPCNT)$|cannot use st\.Dev \(variable of type int32\) as uint64`,
)

// The overlay compiles for other platforms, too, except for its sockets on other systems. The test runs no program
// there.
func TestOtherPlatforms(t *testing.T) {
	tier.OnlyFull(t, "it builds half of the standard library for three platforms")
	goroot, version := installed(t)
	if !known(version) {
		t.Skip("the Go of this machine is not one of those known")
	}
	index, err := Generate(goroot, version, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	build := func(system, processor string, packages ...string) (string, error) {
		args := append([]string{"build", "-gcflags=net=-e", "-overlay", index, "-tags", Tag}, packages...)
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, platform := range []string{"linux/arm64", "darwin/amd64", "darwin/arm64"} {
		system, processor, _ := strings.Cut(platform, "/")
		if out, err := build(system, processor, changed...); err != nil {
			t.Errorf("%s: %v: %s", platform, err, out)
			continue
		}
		out, err := build(system, processor, "net")
		if (err != nil) != (system == "darwin") {
			t.Errorf("%s: net: %v: %s", platform, err, out)
		}
		for line := range strings.Lines(out) {
			if line = strings.TrimSpace(line); line != "# net" && !linuxOnly.MatchString(line) {
				t.Errorf("%s: %s", platform, line)
			}
		}
	}
}

// Generate refuses a system that the overlay does not support, before it builds anything.
func TestOtherSystem(t *testing.T) {
	t.Setenv("GOOS", "darwin")
	tool, err := Installed(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Generate(); err == nil ||
		!strings.HasPrefix(err.Error(), "the overlay of Go is made for linux, and programs are built for darwin here") {
		t.Errorf("%v", err)
	}
}
