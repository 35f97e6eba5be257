package etcdraft_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is a fenced block of a page: what is said of it and its lines.
type block struct{ kind, file, output, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w+)(?: file=(\\S+))?(?: output=(\\S+))?\n(.*?)^```$")

func blocks(t *testing.T, page string) []block {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var list []block
	for _, m := range fence.FindAllStringSubmatch(string(data), -1) {
		list = append(list, block{m[1], m[2], m[3], m[4]})
	}
	return list
}

// TestHowTo follows docs/test-your-raft.md: it writes the files as the page shows them,
// runs "go test" where the page does, and finds what the page says it prints. Only the
// modules come from this repository instead of the network.
func TestHowTo(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", module(t))
	write(t, dir, "go.sum", sums(t))
	var output string
	ran := 0
	for _, b := range blocks(t, "../../docs/test-your-raft.md") {
		switch {
		case b.file != "":
			write(t, dir, b.file, b.text)
		case b.kind == "sh" && strings.TrimSpace(b.text) == "go test":
			cmd := exec.Command("go", "test", "-count=1", ".")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off")
			out, err := cmd.CombinedOutput()
			output = string(out)
			ran++
			if failed := err != nil; failed != (ran == 1) {
				t.Fatalf("run %d of go test: %v\n%s", ran, err, output)
			}
		case b.output != "":
			if !strings.Contains(output, strings.TrimSpace(b.text)) {
				t.Errorf("the page promises %q, go test printed:\n%s", b.text, output)
			}
		}
	}
	if ran != 2 {
		t.Errorf("the page ran go test %d times, want a failing and a passing one", ran)
	}
}

func write(t *testing.T, dir, name, text string) {
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// module is the page's go.mod with this repository in the place of the releases.
func module(t *testing.T) string {
	own, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(own), "module github.com/lockstep-go/lockstep/target/etcdraft", "module example.com/register", 1)
	text = strings.Replace(text, "=> ../..", "=> "+filepath.Dir(filepath.Dir(here)), 1)
	return text + "\nrequire github.com/lockstep-go/lockstep/target/etcdraft v0.0.0\n" +
		"replace github.com/lockstep-go/lockstep/target/etcdraft => " + here + "\n"
}

// sums joins the checksums of the two modules.
func sums(t *testing.T) string {
	var all string
	for _, file := range []string{"go.sum", "../../go.sum"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += string(data)
	}
	return all
}
