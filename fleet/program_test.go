package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// own creates a machine's directory with a custom program in it. It returns the directory and the environment of a
// process there.
func own(t *testing.T, text string) (dir string, env []string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, requires, _ := strings.Cut(string(mod), "\n\nrequire (")
	for name, text := range map[string]string{
		"go.sum": string(sum),
		"go.mod": fmt.Sprintf("module example.com/mine\n\ngo 1.26.0\n\nrequire github.com/lockstep-go/lockstep v0.1.0\n"+
			"\nrequire (%s\n"+
			"replace github.com/lockstep-go/lockstep => %s\n", requires, root),
		"check/main.go": text,
	} {
		if err := os.MkdirAll(filepath.Join(dir, "mine", "check"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "mine", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir, append(os.Environ(), "FLEET_TEST_COMMAND=1", "GOWORK=off", "GOFLAGS=-mod=mod",
		"XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
}

const ownMain = `package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/smr"
)

func main() { cli.Main(smr.Targets...) }
`

// there makes a command run as a process of a machine.
func there(c *exec.Cmd, dir string, env []string) *exec.Cmd {
	c.Dir, c.Env = dir, env
	return c
}

// The client and the worker each build a target that is a program from their own source, in their own directory. If the
// sources are the same, the result is that of one machine. A worker with a different source refuses the campaign and
// reports the reason.
func TestPrograms(t *testing.T) {
	if size("FLEET_PROGRAMS", 0) == 0 {
		t.Skip("three builds take long; make fleet makes them")
	}
	f := newFixture(t, 0)
	flags := []string{"--strategy", "walk", "--runs", "300", "--seed", "5", "--no-shrink", "--keep-going"}
	want := output(t, 1, append([]string{"run", "smr-bug"}, flags...)...)
	client, clientEnv := own(t, ownMain)
	other, otherEnv := own(t, strings.Replace(ownMain, "func main", "// changed\nfunc main", 1))
	c := there(
		command(
			t,
			append(append([]string{"fleet", "run", "./mine/check:smr-bug"}, flags...), "--fleet", f.url, "--token-file",
				f.tokenFile(), "--json")...),
		client,
		clientEnv,
	)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	begin(t, c)
	begin(t, there(command(t, append(f.at("join"), "--name", "other", "--workers", "1")...), other, otherEnv))
	refused := ""
	for end := time.Now().Add(20 * time.Minute); refused == "" && time.Now().Before(end); pause(t.Context(), idle) {
		var s status
		text, err := command(t, append(f.at("status"), "--json")...).Output()
		if err == nil && json.Unmarshal(text, &s) == nil && len(s.Workers) > 0 {
			refused = s.Workers[0].refusals()
		}
	}
	if !strings.Contains(refused, "this is another program: its program is ") {
		t.Fatalf("%q\n%s", refused, errs.String())
	}
	worker, workerEnv := own(t, ownMain)
	begin(t, there(command(t, append(f.at("join"), "--workers", "1")...), worker, workerEnv))
	_ = c.Wait()
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	if got["digest"] != want["digest"] || got["runs"] != want["runs"] ||
		fmt.Sprint(got["finding"]) != fmt.Sprint(want["finding"]) {
		t.Errorf("digest %v after %v runs, linked in %v", got["digest"], got["runs"], want["digest"])
	}
}
