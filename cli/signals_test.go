//go:build unix

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// hangingGo is a go command that never finishes a build and leaves a file in the directory for temporary files.
const hangingGo = `#!/bin/sh
if [ "$1" = build ]; then
	mkdir "${GOTMPDIR:-$TMPDIR}/go-build1"
	echo begun > "$BEGUN"
	sleep 600
fi
PATH=$REAL exec go "$@"
`

// The command timeout sends its signal twice, at once. A build handles both as one: it ends in order and leaves no
// files.
func TestSignalTwice(t *testing.T) {
	tier.NotShort(t)
	dir, self := t.TempDir(), executable(t)
	begun := filepath.Join(dir, "begun")
	for name, text := range map[string]string{"check/go.mod": "module example.com/check\n\ngo 1.26\n",
		"check/main.go": "package main\n\nfunc main() {}\n", "bin/go": hangingGo} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777),
			os.WriteFile(file, []byte(text), 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "run", "./check")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), aloneVariable+"=1", "GOWORK=off", "BEGUN="+begun, "REAL="+os.Getenv("PATH"),
		"PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"),
		"TMPDIR="+filepath.Join(dir, "tmp"))
	var errOut bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &errOut, 10*time.Second // a go command that survives has the file open
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no build has begun")
		}
	}
	_, _ = cmd.Process.Signal(syscall.SIGTERM), cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != statusInterrupted ||
		!bytes.HasSuffix(errOut.Bytes(), []byte("lockstep: interrupted\n")) {
		t.Errorf("%v: %s", cmd.ProcessState, errOut.String())
	}
	for _, place := range []string{"tmp", "cache/lockstep/programs"} {
		entries, _ := os.ReadDir(filepath.Join(dir, place))
		for _, e := range entries {
			if e.Name() != "locks" {
				t.Errorf("left in %s: %s", place, e.Name())
			}
		}
	}
}

func executable(t *testing.T) string {
	t.Helper()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return file
}
