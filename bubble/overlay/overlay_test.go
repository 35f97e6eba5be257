package overlay

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func installed(t *testing.T) (goroot, version string) {
	t.Helper()
	tool, err := Installed(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return tool.Root, tool.Version
}

// The edits fit every installed Go of a known release: the one that runs the tests, and those that the go command has
// downloaded.
func TestGenerate(t *testing.T) {
	goroot, version := installed(t)
	roots := map[string]string{version: goroot}
	modules, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	const before, after = "toolchain@v0.0.1-", ".linux-amd64"
	downloaded, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(modules)), "golang.org", before+"*"+after))
	for _, root := range downloaded {
		roots[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(root), before), after)] = root
	}
	for version, root := range roots {
		t.Run(version, func(t *testing.T) {
			if !known(version) {
				t.Skip("it is not one of those known")
			}
			dir := t.TempDir()
			index, err := Generate(root, version, dir)
			if err != nil {
				t.Fatal(err)
			}
			list, err := os.ReadFile(index)
			if err != nil || !strings.Contains(string(list), "runtime/lockstep.go") {
				t.Fatalf("%s: %v", list, err)
			}
			points, err := GeneratePoints(root, version, dir, []string{"example.com/x"})
			if err != nil || points == index {
				t.Errorf("with points: %s, %v", points, err)
			}
			again, err := Generate(root, version, dir)
			if err != nil || again != index {
				t.Errorf("again: %s, %v", again, err)
			}
		})
	}
}

// Where releases differ, one of the variants must fit; otherwise the error names the places of all.
func TestOneOf(t *testing.T) {
	s := &source{name: "x.go", text: "package x\n\nfunc f() {\n\tg()\n}\n", files: token.NewFileSet()}
	s.tree, _ = parser.ParseFile(s.files, s.name, s.text, 0)
	old := func(s *source) { s.before("f", "h()", "before()") }
	s.oneOf(old, func(s *source) { s.after("f", "g()", "after()") })
	text, err := s.result()
	if err != nil || !strings.Contains(text, "g()\nafter()") || strings.Contains(text, "before()") {
		t.Errorf("%s, %v", text, err)
	}
	s.oneOf(old, func(s *source) { s.begin("i", "never()") })
	if _, err := s.result(); err == nil || !strings.Contains(err.Error(), "x.go:3: f has 0 statements") ||
		!strings.Contains(err.Error(), "x.go: there is no function i") {
		t.Errorf("neither fits: %v", err)
	}
}

// Main uses a downloaded toolchain through a link, and a program built with it is deterministic. Lockstep's module
// needs a later Go, so the program is a separate module.
func TestDownloaded(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the standard library")
	}
	modules, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	roots, _ := filepath.Glob(
		filepath.Join(strings.TrimSpace(string(modules)), "golang.org", "toolchain@v0.0.1-go1.25.*.linux-amd64"))
	if len(roots) == 0 {
		t.Skip("Go 1.25 is not there: GOTOOLCHAIN=go1.25.5 go version downloads it")
	}
	_, version, _ := strings.Cut(filepath.Base(roots[0]), "v0.0.1-")
	t.Setenv("GOTOOLCHAIN", strings.TrimSuffix(version, ".linux-amd64"))
	t.Setenv("GOWORK", "off")
	t.Chdir(filepath.Join("testdata", "select"))
	var texts [2]strings.Builder
	for i := range texts {
		if code := Main(t.Context(), []string{"test", "-count=1", "-v", "."}, nil, &texts[i], &texts[i]); code != 0 {
			t.Fatalf("status %d\n%s", code, texts[i].String())
		}
	}
	var choices [2]string
	for i := range texts {
		_, choices[i], _ = strings.Cut(texts[i].String(), "choices: ")
		choices[i], _, _ = strings.Cut(choices[i], "\n")
	}
	if choices[0] != choices[1] || len(choices[0]) < 40 {
		t.Errorf("%s: %q and %q", version, choices[0], choices[1])
	}
	t.Logf("%s: %s", version, choices[0])
}

// Generate refuses a Go with other source code, and names the place.
func TestRefuse(t *testing.T) {
	goroot, _ := installed(t)
	if _, err := Generate(goroot, "go1.99.1", t.TempDir()); err == nil || !strings.Contains(err.Error(), "go1.99.1") {
		t.Errorf("another version: %v", err)
	}
	root := t.TempDir()
	for _, names := range files([]map[string]func(*source){edited, process, counters}) {
		name := there(goroot, names)
		text, err := os.ReadFile(filepath.Join(goroot, "src", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "runtime/select.go" {
			text = []byte(
				strings.ReplaceAll(string(text), "cheaprandn(uint32(norder + 1))", "cheaprandn(uint32(norder) + 1)"))
		}
		if err := write(filepath.Join(root, "src", name), string(text)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Generate(root, "go1.26.0", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "runtime/select.go:") ||
		!strings.Contains(err.Error(), `selectgo has 0 times "cheaprandn(uint32(norder + 1))", expected is once`) {
		t.Errorf("changed source: %v", err)
	}
}

func TestTags(t *testing.T) {
	rest, values := without([]string{"tags", "preempt"},
		[]string{"-v", "-tags", "a,b", "-tags=c", "--preempt", "./...", "./x", "-args", "-tags", "x"})
	got := fmt.Sprintf("%s|%s|%s", strings.Join(rest, " "), values["tags"], values["preempt"])
	if got != "-v ./x -args -tags x|[a b c]|[./...]" {
		t.Error(got)
	}
}
