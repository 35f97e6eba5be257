package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/target"
)

func TestTag(t *testing.T) {
	for version, want := range map[string]string{
		"v3.6.0":      "v3.6",
		"v3.7.0-rc.1": "v3.7",
		"v0.34":       "v0.34",
		"main":        "",
		"3.6.0":       "",
		"v2":          "",
		"":            "",
	} {
		if got := Tag(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}

// A module in a directory may change, whatever version it had before the replacement.
func TestFixed(t *testing.T) {
	for _, c := range []struct {
		m    *module
		want string
	}{
		{nil, ""},
		{&module{Path: "a", Version: "v1.0.0"}, "a@v1.0.0"},
		{&module{Path: "a"}, ""},
		{&module{Path: "a", Version: "v1.0.0", Replace: &module{Path: "../b"}}, ""},
		{&module{Path: "a", Version: "v1.0.0", Replace: &module{Path: "b", Version: "v2.0.0"}}, "b@v2.0.0"},
	} {
		if got := fixed(c.m); got != c.want {
			t.Errorf("%+v: %q, want %q", c.m, got, c.want)
		}
	}
}

// Names of programs are valid file names.
func TestFileName(t *testing.T) {
	for _, c := range []struct {
		job  job
		want string
	}{
		{job{program: target.Program{Name: "etcdraft"}, version: "v3.6.0"}, "etcdraft-v3.6.0-k"},
		{job{program: target.Program{Name: "./cmd/check", Package: "."}, source: "/home/x/cmd/check"}, "check-k"},
		{job{program: target.Program{Name: "example.com/a/b", Package: "example.com/a/b"}}, "b-k"},
		{job{program: target.Program{Name: "x"}, version: "../../up"}, "x-.._.._up-k"},
	} {
		if got := c.job.fileName("k"); got != c.want+suffix() || strings.ContainsAny(got, `/\`) {
			t.Errorf("%+v: %s, want %s", c.job.program, got, c.want)
		}
	}
}

// A missing go tool is reported before any other error.
func TestNoGoTool(t *testing.T) {
	b := Builder{Cache: t.TempDir(), Go: "no-such-go-tool"}
	for _, p := range []target.Program{
		{Name: "own", Package: "example.com/own"},
		{Name: "far", Package: "example.com/far/x", Module: "example.com/far"},
	} {
		_, err := b.Program(t.Context(), p, "")
		if err == nil ||
			!strings.HasPrefix(err.Error(), p.Name+" is built on demand, which needs the go command: exec: ") {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// The builder removes the oldest programs of one name, and keeps those of other names.
func TestPrune(t *testing.T) {
	j := job{Builder: &Builder{}, program: target.Program{Name: "x"}, cache: t.TempDir(), version: "v1"}
	begin := time.Unix(1000, 0)
	file := func(version string, i int) string {
		k := j
		k.version = version
		return filepath.Join(j.cache, k.fileName(fmt.Sprintf("%016x", i)))
	}
	for i := range kept + 2 {
		for _, version := range []string{"v1", "v1-beta"} {
			if err := os.WriteFile(file(version, i), nil, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file(version, i), begin, begin.Add(time.Duration(i)*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
	}
	j.prune(strings.TrimSuffix(file("v1", 0), fmt.Sprintf("%016x", 0)+suffix()))
	for i := range kept + 2 {
		if _, err := os.Stat(file("v1", i)); (err == nil) != (i >= 2) {
			t.Errorf("program %d: %v", i, err)
		}
		if _, err := os.Stat(file("v1-beta", i)); err != nil {
			t.Errorf("another version is gone: %v", err)
		}
	}
}

// Two machines that build the same source in different directories get the same program, by the key in its name. A
// change results in another key.
func TestKeyDependsOnNoDirectory(t *testing.T) {
	tier.NotShort(t)
	made := func(text string) string {
		dir := filepath.Join(t.TempDir(), "check")
		for name, text := range map[string]string{"go.mod": "module example.com/check\n\ngo 1.26\n", "main.go": text} {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("GOWORK", "off")
		b := Builder{Cache: t.TempDir()}
		file, err := b.Program(t.Context(), target.Program{Name: dir, Package: dir}, "")
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Base(file)
	}
	const text = "package main\n\nfunc main() {}\n"
	here, there, other := made(text), made(text), made(text+"// changed\n")
	if here != there || here == other {
		t.Errorf("%s, in another directory %s, changed %s", here, there, other)
	}
}

// The go tool cannot parse any build argument as a flag.
func TestNoFlags(t *testing.T) {
	dir := t.TempDir()
	said, tool := filepath.Join(dir, "said"), filepath.Join(dir, "go")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho \"$@\" >>"+said+"\nexit 1\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	b := Builder{Cache: t.TempDir(), Go: tool}
	bad := "-toolexec=/bin/sh -c /x"
	for _, c := range []struct {
		p       target.Program
		version string
	}{
		{target.Program{Name: bad, Package: bad}, ""},
		{target.Program{Name: "x", Package: bad}, ""},
		{target.Program{Name: "x", Package: "example.com/x", Module: bad}, ""},
		{
			target.Program{
				Name:     "x",
				Package:  "example.com/x",
				Module:   "m",
				Library:  "l",
				Versions: []string{"v1.0.0"},
			},
			bad,
		},
	} {
		if _, err := b.Program(t.Context(), c.p, c.version); err == nil || !strings.Contains(err.Error(), "begin") {
			t.Errorf("%+v in version %q: %v", c.p, c.version, err)
		}
	}
	if text, err := os.ReadFile(said); err == nil {
		t.Errorf("the go tool was called: %s", text)
	}
	_, _ = b.Program(t.Context(), target.Program{Name: "x", Package: "example.com/x"}, "")
	_, _ = b.Program(t.Context(), target.Program{Name: "x", Package: "example.com/x", Module: "example.com/m"}, "")
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) < 2 || words[len(words)-2] != "--" {
			t.Errorf("go %s: -- does not stand before the package", line)
		}
	}
}

// A version that is too old is refused by name, before anything is fetched or built.
func TestTooOld(t *testing.T) {
	b := Builder{Cache: t.TempDir(), Go: filepath.Join(t.TempDir(), "none")}
	p := target.Program{Name: "x", Package: "example.com/x", Module: "m", Library: "example.com/raft",
		Versions: []string{"v1.4.0"}, Oldest: "v1.3.10"}
	for version, want := range map[string]string{
		"v1.3.9":  "v1.3.9 is too old for the target x, which builds with example.com/raft v1.3.10 and later",
		"v1.3.10": "which needs the go command",
		"":        "which needs the go command",
	} {
		if _, err := b.Program(t.Context(), p, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %q: %v, want %q", version, err, want)
		}
	}
}

// A program is built with the overlay if its description requires it. A user's own package gets the overlay if it
// imports package bubble. With best effort no program gets it.
func TestWhichGetTheOverlay(t *testing.T) {
	dir := t.TempDir()
	for name, deps := range map[string]string{
		"goroutines": "fmt\\n" + bubblePackage,
		"steps":      "fmt\\n" + bubblePackage + "/overlay",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nprintf '"+deps+"\\n'\n"),
			0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		tool string
		p    target.Program
		want bool
	}{
		{"goroutines", target.Program{Name: "own", Package: "example.com/own"}, true},
		{"steps", target.Program{Name: "own", Package: "example.com/own"}, false},
		{"steps", target.Program{Name: "x", Package: "example.com/x", Module: "example.com/x", Exact: true}, true},
		{"goroutines", target.Program{Name: "x", Package: "example.com/x", Module: "example.com/x"}, false},
	} {
		for _, plain := range []bool{false, true} {
			j := job{Builder: &Builder{Go: filepath.Join(dir, c.tool), BestEffort: plain}, program: c.p, work: dir}
			if got, err := j.exact(t.Context()); err != nil || got != (c.want && !plain) {
				t.Errorf("%s %+v, best effort %v: %v, %v", c.tool, c.p, plain, got, err)
			}
		}
	}
}
