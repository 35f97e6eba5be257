package build

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/target"
)

// program writes a main package in a separate module, and returns its directory.
func program(t *testing.T, mod, main string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "check")
	if err := errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o666),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte(main), 0o666)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A failed build reports its reason in one line, and leaves no files.
func TestRefused(t *testing.T) {
	const mod, main = "module example.com/check\n\ngo 1.26\n", "package main\n\nfunc main() {}\n"
	needs := mod + "\nrequire example.com/lib v1.0.0\n"
	imports := "package main\n\nimport _ \"example.com/lib\"\n\nfunc main() {}\n"
	for _, c := range []struct {
		what, mod, main string
		set             map[string]string
		cache           string // in a separate directory
		want            string
	}{
		{"an older Go", "module example.com/check\n\ngo 1.999\n", main, map[string]string{"GOTOOLCHAIN": "local"},
			"cache",
			"cannot be built: it needs Go 1.999 or later, and the go command is of Go 1."},
		{"no network", needs, imports, map[string]string{
			"GOPROXY":   "http://127.0.0.1:1",
			"GONOSUMDB": "*",
			"GOFLAGS":   "-mod=mod",
		}, "cache",
			"cannot be built: it needs modules that are not in the module cache and cannot be fetched: "},
		{"no proxy", needs, imports, map[string]string{"GOPROXY": "off", "GOFLAGS": "-mod=mod"}, "cache",
			"cannot be built: it needs modules that are not in the module cache and cannot be fetched: "},
		{"a cache that cannot be written", mod, main, nil, "file/cache",
			"which cannot be written: mkdir "},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Setenv("GOWORK", "off")
			for name, value := range c.set {
				t.Setenv(name, value)
			}
			temporary, home := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", temporary)
			if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
			dir := program(t, c.mod, c.main)
			b := Builder{Cache: filepath.Join(home, c.cache)}
			_, err := b.Program(t.Context(), target.Program{Name: dir, Package: dir}, "")
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q in one line", err, c.want)
			}
			for _, place := range []string{temporary, b.Cache} {
				if left, _ := os.ReadDir(place); len(left) > 0 {
					t.Errorf("left in %s: %v", place, left)
				}
			}
		})
	}
}

// The builder finds a program in a read-only cache.
func TestReadOnly(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir, cache := program(t, "module example.com/check\n\ngo 1.26\n", "package main\n\nfunc main() {}\n"), t.TempDir()
	b := Builder{Cache: cache}
	built, err := b.Program(t.Context(), target.Program{Name: dir, Package: dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(cache, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(cache, 0o777) })
	if found, err := b.Program(t.Context(), target.Program{Name: dir, Package: dir}, ""); err != nil || found != built {
		t.Errorf("%s, %v, want %s", found, err, built)
	}
	all, err := List(cache)
	if err != nil || len(all) != 1 || all[0].Name != "check" || all[0].File != built || all[0].Bytes == 0 {
		t.Errorf("listed are %+v, %v", all, err)
	}
}

// An installed command reports why it cannot fetch the source of a target.
func TestFetchRefused(t *testing.T) {
	release = "v0.1.0"
	t.Cleanup(func() { release = "" })
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GONOSUMDB", "*")
	proxy := "file://" + filepath.ToSlash(t.TempDir())
	const module = target.Root + "/target/nats"
	for _, c := range []struct{ proxy, want string }{
		{"off", "it needs modules that are not in the module cache and cannot be fetched: " + module + "@v0.1.0: "},
		{
			"http://127.0.0.1:1",
			"it needs modules that are not in the module cache and cannot be fetched: " + module + "@v0.1.0: ",
		},
		{proxy, module + "@v0.1.0: reading " + proxy},
	} {
		t.Setenv("GOPROXY", c.proxy)
		j := job{Builder: &Builder{}, program: target.Program{Name: "nats"}, work: t.TempDir()}
		_, err := j.fetch(t.Context(), module)
		want := "nats cannot be built: " + c.want
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("GOPROXY=%s: %v, want %q in one line", c.proxy, err, want)
		}
	}
}

// A fetch from a module proxy changes neither the user's module nor the user's workspace.
func TestFetchChangesNoSums(t *testing.T) {
	const module = target.Root + "/target/fetched"
	proxy := filepath.Join(t.TempDir(), filepath.FromSlash(module), "@v")
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, err := z.Create(module + "@v0.1.0/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod := []byte("module " + module + "\n\ngo 1.26\n")
	_, err = w.Write(mod)
	if err := errors.Join(err, z.Close(), os.MkdirAll(proxy, 0o777)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"v0.1.0.info": []byte(`{"Version":"v0.1.0"}`),
		"v0.1.0.mod":  mod,
		"v0.1.0.zip":  packed.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(proxy, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	release = "v0.1.0"
	t.Cleanup(func() { release = "" })
	for name, value := range map[string]string{"GOPROXY": "file://" +
		filepath.ToSlash(strings.TrimSuffix(proxy, filepath.FromSlash(module+"/@v"))), "GONOSUMDB": "*",
		"GOMODCACHE": t.TempDir(), "GOFLAGS": "-modcacherw", "GOWORK": ""} {
		t.Setenv(name, value)
	}
	mine := program(t, "module example.com/check\n\ngo 1.26\n", "package main\n\nfunc main() {}\n")
	t.Chdir(mine)
	if err := os.WriteFile("go.work", []byte("go 1.26\n\nuse .\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	j := job{Builder: &Builder{}, program: target.Program{Name: "fetched"}, work: t.TempDir()}
	dir, err := j.fetch(t.Context(), module)
	if err != nil || !exists(filepath.Join(dir, "go.mod")) {
		t.Fatalf("%q, %v", dir, err)
	}
	for _, name := range []string{"go.sum", "go.work.sum"} {
		if text, err := os.ReadFile(name); err == nil {
			t.Errorf("there is %s: %s", name, text)
		}
	}
}
