package installtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
)

// repository is the relative path of the checkout.
const repository = "../../.."

// variable enables the test, which builds several programs with all of their dependencies.
const variable = "LOCKSTEP_INSTALL"

// masks replace texts that differ each time, so that the transcripts are the same on a busy machine.
var masks = [][2]string{
	{`built in [\d.ms]+,`, "built in [time],"},
	{`(FAIL|ok) *\t(\S+)\t[\d.]+s`, "$1\t$2\t[time]"},
	{`\d+-\d+-\d+ \d+:\d+:\d+ `, "[date and time] "},
}

// A user without a checkout follows the page on installing. Then the user tests their own module and runs targets that
// are built on demand, a stored trace, a custom program and a fleet, as docs/evidence/installation.md shows; -rewrite
// regenerates it. Afterwards the test runs the recipes for CI and builds other programs.
func TestInstall(t *testing.T) {
	if os.Getenv(variable) == "" {
		t.Skipf("SKIPPED, it builds for minutes; make install-test, which is part of make test-all, runs it (%s=1)",
			variable)
	}
	outside.Programs(t, "go", "git", "sh")
	proxy := t.TempDir()
	if err := makeProxy(repository, proxy, "v"+lockstep.Version); err != nil {
		t.Fatal(err)
	}
	// The test takes modules in this machine's module cache from there instead of the network. No cache has Lockstep's
	// own modules.
	downloaded := filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download")
	bin := t.TempDir()
	variables := []string{
		"GOPROXY=file://" + proxy + ",file://" + downloaded + "," + goEnv(t, "GOPROXY"),
		"GONOSUMDB=github.com/lockstep-go/*", "GOSUMDB=" + goEnv(t, "GOSUMDB"),
		"GOMODCACHE=" + t.TempDir(), "GOFLAGS=-modcacherw", // so that the test can remove it
		"GOBIN=" + bin, "PATH=" + bin + ":" + os.Getenv("PATH"),
	}
	variables = append(variables, "RECIPES="+recipes(t))
	for _, file := range []string{
		repository + "/docs/tutorials/install.md", repository + "/docs/evidence/installation.md",
		"testdata/ci.md", "testdata/targets.md",
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := page.Reader{
				Variables: variables,
				Masks:     masks,
				Figures:   []string{` +\d+ MB`, `\(\d+, \d+ MB\)`}, // sizes of programs
			}
			r.Follow(t, file)
		})
	}
}

// recipes returns a directory with scripts of the commands in docs/how-to/ci.md, as the CI services run them. A
// campaign of a hundred runs replaces one of ten minutes.
func recipes(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(repository + "/docs/how-to/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Jobs struct {
			Campaign struct {
				Steps []struct{ Run string }
			}
		}
		Lockstep struct{ Script []string }
	}
	for _, b := range page.Blocks(string(text)) {
		if err := yaml.Unmarshal([]byte(b.Text), &file); err != nil {
			t.Fatalf("%s: %v", b.Name, err)
		}
	}
	dir := t.TempDir()
	write := func(name string, commands []string) {
		script := strings.ReplaceAll(strings.Join(commands, "\n")+"\n", "--for 10m", "--runs 100")
		if strings.Count(script, "--runs 100") != 1 {
			t.Fatalf("%s has no campaign of ten minutes: %s", name, script)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var github []string
	for _, s := range file.Jobs.Campaign.Steps {
		github = append(github, s.Run)
	}
	write("github.sh", github)
	write("gitlab.sh", file.Lockstep.Script)
	return dir
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// The test that is run against the release is the one of the README.
func TestSameTest(t *testing.T) {
	var texts []string
	for _, file := range []string{repository + "/README.md", repository + "/docs/evidence/installation.md"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page.Blocks(string(data)) {
			if b.Role == "file" && b.Name == "log_test.go" {
				texts = append(texts, b.Text)
			}
		}
	}
	if len(texts) != 2 || texts[0] != texts[1] {
		t.Errorf("log_test.go is %d times in the pages, or differs", len(texts))
	}
}
