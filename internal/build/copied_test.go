package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/target"
)

// mixed is a program in a checkout's module that does not exist.
var mixed = target.Program{Name: "store-upgrade", Library: "go.example/store", Versions: []string{"v1.0.0+v1.1.0"},
	Module: target.Root + "/target/store", Border: target.Root + "/target/store/release",
	Package: target.Root + "/target/upgrade"}

// The main package gives the target the border of each version, in the order of the upgrades.
func TestMixedMain(t *testing.T) {
	j := job{program: mixed}
	got := string(j.mixedMain([]string{"v1.1.0", "v1.0.0+incompatible"}))
	for _, want := range []string{
		"\tv1_1_0 \"copies.invalid/v1_1_0/github.com/lockstep-go/lockstep/target/store/release\"\n",
		`upgrade.Main("store-upgrade", v1_1_0.Release{}, v1_0_0_incompatible.Release{})`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// What cannot be built says why, before the go command works on it.
func TestMixedRefused(t *testing.T) {
	tier.NotShort(t)
	for _, c := range []struct {
		version string
		options Builder
		want    string
	}{
		{"v1.0.0+v1.0.0", Builder{}, `store-upgrade: the versions "v1.0.0+v1.0.0" must be different ones separated by +`},
		{"v1.0.0+1.1.0", Builder{}, "must be different ones separated by +, as in v1.2.3+v1.3.0"},
		{"v1.0.0+v1.1.0", Builder{Counters: true}, "whose statements cannot be counted"},
		{"v1.0.0+v1.1.0", Builder{Preempt: true}, "in which goroutines cannot be preempted"},
		{"-v1.0.0", Builder{}, "begins with -"},
	} {
		b := c.options
		b.Cache = t.TempDir()
		_, err := b.Program(t.Context(), mixed, c.version)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.version, err, c.want)
		}
	}
}

// The key of a copy depends on the border and the modules, but not on tests of the border.
func TestCopyKey(t *testing.T) {
	border := t.TempDir()
	key := func(files map[string]string) string {
		j := job{Builder: &Builder{}, work: t.TempDir(), source: border}
		for name, text := range map[string]string{"go.mod": "module m\n", "go.sum": ""} {
			if err := os.WriteFile(filepath.Join(j.work, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(border, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		k, err := j.copyKey(t.Context(), border)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := key(map[string]string{"release.go": "package release\n"})
	if key(map[string]string{"release_test.go": "package release\n"}) != first {
		t.Error("a test of the border changes the key")
	}
	if key(map[string]string{"release.go": "package release // changed\n"}) == first {
		t.Error("a change of the border does not change the key")
	}
}

// The modules that are released with the library have its version, too.
func TestReplaceSiblings(t *testing.T) {
	j := job{Builder: &Builder{}, work: t.TempDir(), program: mixed, version: "v1.1.0", alone: true}
	file := filepath.Join(j.work, "go.mod")
	text := "module m\n\ngo 1.26\n\n" +
		"require (\n\tgo.example/store v1.2.0\n\tgo.example/store/api v1.2.0\n\tgo.example/log v1.0.0\n)\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := j.replaceSiblings(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil || strings.Count(string(got), "=>") != 1 ||
		!strings.Contains(string(got), "replace go.example/store/api => go.example/store/api v1.1.0") {
		t.Errorf("%v\n%s", err, got)
	}
}
