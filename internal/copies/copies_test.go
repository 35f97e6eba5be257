package copies_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lockstep-go/lockstep/internal/copies"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// unpack writes the modules of testdata to a temporary directory.
func unpack(t *testing.T) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/server.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range archive.Files {
		name := filepath.Join(root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Three copies of two versions run in one program, each with its own variables, registries and language version.
func TestVersionsInOneProgram(t *testing.T) {
	tier.NotShort(t)
	root := unpack(t)
	to := filepath.Join(root, "user", "copies")
	for name, from := range map[string]string{"v1": "v1", "v1again": "v1", "v2": "v2"} {
		report, err := copies.Copy{Package: "go.example/server", From: filepath.Join(root, from), Name: name, Dir: to,
			Path: "user.example/copies"}.Write(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if report.Packages != 2 || report.Import != "user.example/copies/"+name+"/go.example/server" ||
			!slices.Contains(report.Separated, "go.example/server: expvar.NewInt") {
			t.Errorf("%s: %+v", name, report)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir, cmd.Env = filepath.Join(root, "user"), append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	want := "one 1\none 2\none 1\ntwo 10\ntwo 20\n[3 3 3] [0 1 2]\n200 hello from one\n\n200 hello from one\n\n200 " +
		"hello from two\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}

// What cannot be copied is refused in one line that names it, and leaves an earlier copy as it is.
func TestRefused(t *testing.T) {
	root := unpack(t)
	to := filepath.Join(root, "user", "copies")
	good := copies.Copy{Package: "go.example/server", From: filepath.Join(root, "v1"), Name: "v1", Dir: to,
		Path: "user.example/copies"}
	if _, err := good.Write(context.Background()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*copies.Copy){
		`the name "V-1" of a copy must be lower-case letters`: func(c *copies.Copy) { c.Name = "V-1" },
		"package go.example/native/deep has deep.syso: cgo and object files cannot be copied": func(c *copies.Copy) {
			c.Package, c.From = "go.example/native", filepath.Join(root, "cgo")
		},
		"go list: ": func(c *copies.Copy) { c.Package = "go.example/server/absent" },
		"is not the import path of one package outside the standard library": func(c *copies.Copy) { c.Package = "fmt" },
		"go get: ": func(c *copies.Copy) { c.Version = "v99.0.0" },
	} {
		c := good
		change(&c)
		_, err := c.Write(context.Background())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "v1", "go.example", "server", "server.go")); err != nil {
		t.Error(err)
	}
	entries, _ := os.ReadDir(to)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
