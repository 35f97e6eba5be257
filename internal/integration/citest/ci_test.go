package citest

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rhysd/actionlint"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
)

// recipe returns a file that the page shows.
func recipe(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/how-to/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range page.Blocks(string(text)) {
		if b.Role == "file" && b.Name == name {
			return b.Text
		}
	}
	t.Fatalf("the page does not show %s", name)
	return ""
}

// lint lints a workflow and returns the errors.
func lint(t *testing.T, name string, text []byte) []*actionlint.Error {
	t.Helper()
	l, err := actionlint.NewLinter(&bytes.Buffer{}, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := l.Lint(name, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

// pinned matches an action that is pinned to a commit.
var pinned = regexp.MustCompile(`uses: \S+@[0-9a-f]{40} # v\d`)

// The workflows pass actionlint, have read-only permissions, and pin actions to commits.
func TestWorkflows(t *testing.T) {
	fleet, err := os.ReadFile("../../../scripts/fleet/workflow.yml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"docs/how-to/ci.md":          recipe(t, "github.yml"),
		"scripts/fleet/workflow.yml": string(fleet),
	} {
		for _, p := range lint(t, name, []byte(text)) {
			t.Error(p)
		}
		if !strings.Contains(text, "contents: read") ||
			len(pinned.FindAllString(text, -1)) != strings.Count(text, "uses:") {
			t.Errorf("%s has more permissions than reading, or an action that is not pinned", name)
		}
	}
	if len(
		lint(
			t,
			"wrong",
			[]byte(
				"on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ nothing.here }}\n",
			),
		),
	) == 0 {
		t.Error("actionlint finds nothing wrong with what is wrong")
	}
}

// pinnedImage is a container image with its digest. A tag alone can be moved to other contents.
var pinnedImage = regexp.MustCompile(`^golang:1\.[0-9]+\.[0-9]+@sha256:[0-9a-f]{64}$`)

// The job for GitLab is YAML with the keys that a job needs. Its image has the digest that the fleet's image has.
func TestGitLab(t *testing.T) {
	var file map[string]struct {
		Image     string   `yaml:"image"`
		Timeout   string   `yaml:"timeout"`
		Script    []string `yaml:"script"`
		Artifacts struct {
			When    string            `yaml:"when"`
			Paths   []string          `yaml:"paths"`
			Reports map[string]string `yaml:"reports"`
		} `yaml:"artifacts"`
	}
	if err := yaml.UnmarshalWithOptions([]byte(recipe(t, "gitlab.yml")), &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	container, err := os.ReadFile("../../../scripts/fleet/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	image := file["lockstep"].Image
	if !pinnedImage.MatchString(image) || !strings.Contains(string(container), image+"\n") {
		t.Errorf("the image %q has no digest, or not that of scripts/fleet/Containerfile:\n%s", image, container)
	}
	if job := file["lockstep"]; len(job.Script) != 4 || job.Artifacts.When != "always" ||
		job.Artifacts.Reports["junit"] == "" {
		t.Errorf("%+v", job)
	}
}

// Both recipes install the version of the next release and have the same campaign.
func TestSameCampaign(t *testing.T) {
	github, gitlab := recipe(t, "github.yml"), recipe(t, "gitlab.yml")
	for _, want := range []string{"mkdir -p lockstep-out testdata/lockstep\n",
		"/cmd/lockstep@v" + lockstep.Version + "\n", "xargs -0 -r -n1 lockstep replay --program ./check\n",
		"lockstep run ./check --for 10m --seed ",
		"--out lockstep-out --report lockstep-out/campaign.html --junit lockstep-out/junit.xml\n"} {
		if !strings.Contains(github, want) || !strings.Contains(gitlab, want) {
			t.Errorf("one of the recipes lacks %q", want)
		}
	}
}
