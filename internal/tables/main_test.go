package main

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// The tables of the documentation match the command's output.
func TestDocumentation(t *testing.T) {
	tier.OnlyFull(t, "it makes tables of measurements again")
	page.Section(
		t,
		"../../docs/evidence/strategies.md",
		"tables",
		func(w io.Writer) error { return (bench{3}).tables(t.Context(), w) },
	)
}

// Lines counts the lines of Go in a directory and those below, without tests.
func TestLines(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	n, err := lines(
		fstest.MapFS{
			"a/x.go":      file("1\n2\n"),
			"a/x_test.go": file("3\n"),
			"a/y.txt":     file("4\n"),
			"a/b/z.go":    file("5\n"),
			"c/w.go":      file("6\n"),
		},
		"a",
	)
	if n != 3 || err != nil {
		t.Errorf("%d lines, %v, want 3", n, err)
	}
	if _, err := lines(fstest.MapFS{}, "a"); err == nil {
		t.Error("a directory that is not there has lines")
	}
}

// A file belongs to the part that its name or directory determines, and otherwise to the adapter.
func TestParts(t *testing.T) {
	for file, want := range map[string]string{"etcdraft/client.go": "workload", "etcdraft/v35/v35.go": "versions",
		"etcdraft/internal/raftlib/store.go": "versions",
		"tendermint/store.go":                "disk", "maelstrom/kafka.go": "spec", "kafka/kafka.go": "",
		"hashicorpraft/mutants/mutants.go": "mutants", "pbft/node.go": ""} {
		got := ""
		if i := partOf(file); i >= 0 {
			got = parts[i].name
		}
		if got != want {
			t.Errorf("%s is of the part %q, want %q", file, got, want)
		}
	}
}

// The page about targets has a row for each target. Its figures must be correct to a tenth, so that a small change does
// not require a new table.
func TestPageHasLines(t *testing.T) {
	var now strings.Builder
	if err := lineTable(&now, os.DirFS("../..")); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/evidence/target-size.md")
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`\d+`)
	for row := range strings.Lines(now.String()) {
		like := rowLike(string(page), number.ReplaceAllString(row, "#"), number)
		if like == "" {
			t.Errorf("docs/evidence/target-size.md has no row like %s", row)
			continue
		}
		shown := number.FindAllString(like, -1)
		for i, is := range number.FindAllString(row, -1) {
			a, _ := strconv.Atoi(is)
			b, _ := strconv.Atoi(shown[i])
			if 10*max(a-b, b-a) > a {
				t.Errorf(
					"docs/evidence/target-size.md says %s where go run ./internal/tables -lines prints %s: %s",
					shown[i],
					is,
					row,
				)
			}
		}
	}
}

// The page's statement about adapters is true: all but the oldest have less than 800 lines.
func TestAdaptersAreSmall(t *testing.T) {
	var now strings.Builder
	if err := lineTable(&now, os.DirFS("../..")); err != nil {
		t.Fatal(err)
	}
	adapters := 0
	for row := range strings.Lines(now.String()) {
		columns := strings.Split(row, "|")
		if len(columns) < 6 || !strings.Contains(columns[1], "`") || strings.Contains(columns[1], "`etcdraft`") {
			continue
		}
		adapters++
		if n, err := strconv.Atoi(strings.TrimSpace(columns[5])); err != nil || n >= 800 {
			t.Errorf("docs/evidence/target-size.md says that adapters take less than 800 lines: %s", row)
		}
	}
	if adapters < 10 {
		t.Errorf("only %d adapters", adapters)
	}
}

// rowLike returns the line of a page that has these words, whatever its numbers.
func rowLike(page, words string, number *regexp.Regexp) string {
	for line := range strings.Lines(page) {
		if number.ReplaceAllString(line, "#") == words {
			return line
		}
	}
	return ""
}
