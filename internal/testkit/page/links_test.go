package page

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The links between the project's pages work, and every page is in the site's navigation.
func TestLinks(t *testing.T) {
	const root = "../../.."
	pages, err := filepath.Glob(root + "/*.md")
	reports, err2 := filepath.Glob(root + "/reports/*/README.md")
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	pages = append(pages, reports...)
	site, err := os.ReadFile(root + "/mkdocs.yml")
	if err != nil {
		t.Fatal(err)
	}
	docs := os.DirFS(root + "/docs")
	err = fs.WalkDir(docs, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		pages = append(pages, root+"/docs/"+name)
		if !strings.Contains(string(site), " "+name+"\n") {
			t.Errorf("docs/%s is not in the navigation of mkdocs.yml", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 10 {
		t.Fatalf("only %d pages", len(pages))
	}
	broken, err := BrokenLinks(pages...)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

func TestBrokenLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("docs", 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a.md": "# A, the first\n[b](docs/b.md) [here](#a-the-first) [there](docs/b.md#two-words) " +
			"[web](https://example.com/none)\n" +
			"[none](docs/none.md) [no heading](docs/b.md#three) [in code](docs/b.md#in-code)\n" + fences +
			"go\n# in code\n[x](y)\n" + fences + "\n`[x](y)`\n    [x](y)\n",
		"docs/b.md": "## Two `words`\n[up](../a.md) [up](a.md)\n" + fences + "\n# in code\n" + fences + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := BrokenLinks("a.md", "docs/b.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a.md: docs/none.md: stat docs/none.md: no such file or directory",
		"a.md: docs/b.md#three: docs/b.md has no heading of that name",
		"a.md: docs/b.md#in-code: docs/b.md has no heading of that name",
		"docs/b.md: a.md: stat docs/a.md: no such file or directory",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := BrokenLinks("none.md"); err == nil {
		t.Error("a page that is not there has no broken links")
	}
}
