package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

const version = "v" + lockstep.Version

// The repository can be released in its current state. The test does not check that all changes are committed, which is
// up to the owner.
func TestRepository(t *testing.T) {
	r := release{root: root, version: version}
	if err := r.checkChangelog(); err != nil {
		t.Error(err)
	}
	dirs, err := r.modules()
	if err != nil || len(dirs) < 10 || dirs[0] != "." {
		t.Fatalf("modules %q, %v", dirs, err)
	}
	for _, dir := range dirs {
		for _, p := range r.checkModule(dir) {
			t.Error(p)
		}
	}
}

// small is a repository with every file that a release checks.
var small = map[string]string{
	"CHANGELOG.md": "# Changes\n\n## " + version + "\n\n- The first.\n",
	"LICENSE":      "license\n",
	"README.md":    "readme\n",
	"go.mod":       "module github.com/lockstep-go/lockstep\n\ngo 1.26\n",
	"cmd/lockstep/x.go": "package main\n\nimport \"github.com/lockstep-go/lockstep/internal/build\"\n\nfunc " +
		"main() { println(build.Release()) }\n",
	"internal/build/x.go": "package build\n\nvar release string\n\n// Release is set by the linker.\nfunc Release() " +
		"string { return release }\n",
	"fleet/go.mod": "module github.com/lockstep-go/lockstep/fleet\n\ngo 1.26\n\nrequire " +
		"github.com/lockstep-go/lockstep " + version + "\n",
	"target/x/go.mod": "module github.com/lockstep-go/lockstep/target/x\n\ngo 1.26\n\nrequire (\n" +
		"\texample.com/other v1.0.0\n\tgithub.com/lockstep-go/lockstep " +
		version + "\n)\n",
	"target/x/versions/v1.0.mod": "module github.com/lockstep-go/lockstep/target/x\n\nrequire " +
		"github.com/lockstep-go/lockstep " + version +
		"\n\nreplace example.com/other => ./x\n",
	"internal/lint/go.mod":          "module github.com/lockstep-go/lockstep/internal/lint\n",
	"internal/x/testdata/x/go.mod":  "module x\n",
	"target/x/versions/_old/go.mod": "module y\n",
}

// repository creates the small repository, with changes.
func repository(t *testing.T, changes map[string]string) release {
	t.Helper()
	outside.Program(t, "git")
	r := release{
		root:      t.TempDir(),
		version:   version,
		out:       filepath.Join(t.TempDir(), "out"),
		dryRun:    true,
		platforms: platforms,
	}
	write := func(name, text string) {
		file := filepath.Join(r.root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777),
			os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range small {
		write(name, text)
	}
	for name, text := range changes {
		write(name, text)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, name := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+name+"_NAME", "author")
		t.Setenv("GIT_"+name+"_EMAIL", "author@example.com")
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "all"}} {
		if _, err := r.git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestDryRun(t *testing.T) {
	r := repository(t, nil)
	var out bytes.Buffer
	if err := r.make(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, p := range platforms {
		end := ".tar.gz"
		if strings.HasPrefix(p, "windows") {
			end = ".zip"
		}
		want += "archive " + r.out + "/lockstep-" + version + "-" + strings.ReplaceAll(p, "/", "-") + end + "\n"
	}
	want += "tag " + version + "\ntag fleet/" + version + "\ntag target/x/" + version + "\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if _, err := os.Stat(r.out); err == nil {
		t.Error("a dry run makes archives")
	}
	if tags, err := r.git(t.Context(), "tag"); tags != "" || err != nil {
		t.Errorf("a dry run makes tags: %s, %v", tags, err)
	}
}

// The check names every obstacle.
func TestNotReady(t *testing.T) {
	tier.NotShort(t)
	for _, c := range []struct {
		name, text, want string
	}{
		{"CHANGELOG.md", "# Changes\n", `CHANGELOG.md has no section "## ` + version + `"`},
		{
			"CHANGELOG.md",
			"# Changes\n\n## " + version + "\n\n## v0.0.1\n\n- x\n",
			`CHANGELOG.md has no section "## ` + version + `"`,
		},
		{"fleet/go.mod", "module github.com/lockstep-go/lockstep/fleet\n\nrequire github.com/lockstep-go/lockstep v0.0.9\n",
			"fleet/go.mod requires github.com/lockstep-go/lockstep v0.0.9, the release is " + version},
		{"target/x/versions/v1.0.mod", "require github.com/lockstep-go/lockstep v0.0.9\n",
			"target/x/versions/v1.0.mod requires github.com/lockstep-go/lockstep v0.0.9, the release is " + version},
		{"fleet/go.mod", "module github.com/lockstep-go/lockstep/fleet\n\nreplace github.com/lockstep-go/lockstep => ..\n",
			"fleet/go.mod has a replacement"},
	} {
		r := repository(t, map[string]string{c.name: c.text})
		if err := r.make(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	r := repository(t, nil)
	if _, err := r.git(t.Context(), "tag", "fleet/"+version); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.root, "new.go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	err := r.make(t.Context(), io.Discard)
	for _, want := range []string{"the tree is not clean: ?? new.go", "the tag fleet/" + version + " exists"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	r.version = "v99.0.0"
	if err := r.make(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "the release is v99.0.0") {
		t.Errorf("another version: %v", err)
	}
	r.version = "1.0"
	if err := r.make(t.Context(), io.Discard); err == nil ||
		!strings.Contains(err.Error(), `version "1.0": it must be like v0.1.0`) {
		t.Errorf("no version: %v", err)
	}
}

// The archives have the command, which knows its release, and the same commit produces the same archives.
func TestArchives(t *testing.T) {
	tier.NotShort(t)
	outside.Program(t, "go")
	r := repository(t, nil)
	r.dryRun, r.platforms = false, []string{runtime.GOOS + "/" + runtime.GOARCH, "windows/amd64"}
	var out bytes.Buffer
	if err := r.make(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if tags, err := r.git(t.Context(), "tag"); err != nil ||
		tags != strings.Join([]string{"fleet/" + version, "target/x/" + version, version}, "\n") {
		t.Errorf("tags %q, %v", tags, err)
	}
	sums, err := os.ReadFile(filepath.Join(r.out, "checksums.txt"))
	if err != nil || strings.Count(string(sums), "\n") != 2 {
		t.Errorf("checksums %q, %v", sums, err)
	}
	files := unpack(t, filepath.Join(r.out, r.archive(r.platforms[0])))
	program := filepath.Join(t.TempDir(), "lockstep")
	if err := os.WriteFile(program, files["lockstep"], 0o777); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(program).CombinedOutput(); err != nil || string(said) != version+"\n" {
		t.Errorf("the command says %q, %v", said, err)
	}
	if string(files["LICENSE"]) != "license\n" || len(files) != 4 {
		t.Errorf("the archive has %d files", len(files))
	}
	z, err := zip.OpenReader(filepath.Join(r.out, r.archive("windows/amd64")))
	if err != nil || len(z.File) != 4 || z.File[0].Name != "lockstep.exe" {
		t.Errorf("the archive for Windows: %v", err)
	}
	if err := errors.Join(z.Close(), r.archives(t.Context(), io.Discard)); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(r.out, "checksums.txt")); err != nil || !bytes.Equal(sums, again) {
		t.Errorf("the second time the checksums are\n%swere\n%s", again, sums)
	}
}

// unpack reads a compressed tar file.
func unpack(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
