//go:build unix

package artifact_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lockstep-go/lockstep/artifact"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// WriteFile writes to pipes and devices, keeps links, and creates no directories.
func TestWriteFileElsewhere(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }

	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() { b, _ := os.ReadFile(at("pipe")); got <- string(b) }()
	if err := artifact.WriteFile(at("pipe"), text("through")); err != nil {
		t.Error(err)
	}
	if s := <-got; s != "through" {
		t.Errorf("the pipe had %q", s)
	}
	if info, err := os.Lstat(at("pipe")); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is gone: %v, %v", info, err)
	}
	if err := artifact.WriteFile(os.DevNull, text("gone")); err != nil {
		t.Error(err)
	}

	for _, link := range []struct{ name, to string }{{"there", "real"}, {"dangling", "new"}, {"twice", "there"}} {
		if link.to == "real" {
			if err := os.WriteFile(at("real"), []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(link.to, at(link.name)); err != nil {
			t.Fatal(err)
		}
		if err := artifact.WriteFile(at(link.name), text(link.name)); err != nil {
			t.Error(err)
		}
		b, _ := os.ReadFile(at(link.to))
		if info, err := os.Lstat(at(link.name)); err != nil || info.Mode()&os.ModeSymlink == 0 ||
			string(b) != link.name {
			t.Errorf("%s: %v, %v, %q", link.name, info, err, b)
		}
	}
	if err := os.Symlink("loop", at("loop")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"loop", "no/such/directory", "real/file", "."} {
		if err := artifact.WriteFile(at(file), text("x")); err == nil {
			t.Errorf("%s could be written", file)
		}
	}
	if _, err := os.Stat(at("no")); err == nil {
		t.Error("a directory was invented")
	}
}
