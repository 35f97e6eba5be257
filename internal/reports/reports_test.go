// Package reports checks the bug reports: each directory of reports/ has a program that shows a bug of other software
// without Lockstep, and a README.md with the report: the bug, its commands and their output. The site has it as a page.
package reports

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
)

var programs = flag.Bool("programs", false, "run the programs and compare their output with README.md")

const root = "../.."

// directories returns the names of the directories of reports.
func directories(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(root + "/reports")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// transcripts returns the blocks of a page with commands and their output.
func transcripts(text string) (all []page.Block) {
	for _, b := range page.Blocks(text) {
		if b.Kind == "console" {
			all = append(all, b)
		}
	}
	return all
}

var pinned = regexp.MustCompile(`(?m)^(?:require |\t)[^ ]+ v\d+\.\d+\.\d+|<version>[^<]*\d[^<]*</version>`)

// Every directory is complete: a module of its own, which pins versions and does not use Lockstep, and a report with
// commands and their output, which is in the index and in the site.
func TestComplete(t *testing.T) {
	index, site := read(t, "docs/reports/index.md"), read(t, "mkdocs.yml")
	names := directories(t)
	if len(names) < 2 {
		t.Fatalf("only %q", names)
	}
	for _, name := range names {
		dir := filepath.Join("reports", name)
		if !strings.Contains(index, "](../../"+dir+"/README.md)") {
			t.Errorf("docs/reports/index.md has no link to %s/README.md", dir)
		}
		if !strings.Contains(site, ": reports/"+name+".md") {
			t.Errorf("mkdocs.yml has no reports/%s.md", name)
		}
		shows(t, name, read(t, dir+"/README.md"))
		module(t, dir)
	}
}

// shows checks that the program of a report fails once, with the bug, and succeeds once, as the control.
func shows(t *testing.T, name, readme string) {
	t.Helper()
	failed, passed := false, false
	for _, b := range transcripts(readme) {
		for exchange := range strings.SplitSeq("\n"+b.Text, "\n$ ") {
			failed = failed || strings.Contains(exchange, "\nBUG: ") && strings.Contains(exchange, "\n[exit status 1]")
			passed = passed || strings.Contains(exchange, "\nOK: ") && !strings.Contains(exchange, "[exit status")
		}
	}
	if !failed || !passed {
		t.Errorf("reports/%s/README.md: shows the bug: %t, shows a control: %t", name, failed, passed)
	}
}

// module checks a directory's module, in Go or for Maven.
func module(t *testing.T, dir string) {
	t.Helper()
	file := dir + "/go.mod"
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		file = dir + "/pom.xml"
	} else {
		read(t, dir+"/go.sum")
		read(t, dir+"/go.work") // the workspace of the repository does not include the module
	}
	text := read(t, file)
	if strings.Contains(text, "lockstep") || strings.Contains(text, "replace ") {
		t.Errorf("%s: the program must not depend on Lockstep, nor on changed libraries", file)
	}
	if !pinned.MatchString(text) {
		t.Errorf("%s pins no version", file)
	}
}

// TestPrograms runs every program, and compares what it prints with README.md. Some of them take real time, and need
// ports on the loopback, a JDK or Maven.
func TestPrograms(t *testing.T) {
	if !*programs {
		t.Skip("-programs runs them: make reports")
	}
	outside.Program(t, "go")
	for _, name := range directories(t) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, "reports", name)
			if _, err := os.Stat(filepath.Join(dir, "pom.xml")); err == nil {
				outside.Programs(t, "java", "javac", "mvn")
			}
			(&page.Reader{Root: dir}).Follow(t, dir+"/README.md")
		})
	}
}
