//go:build linux

package sockettest_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the table into the page")

// The page is in the documentation; the table is between the marks.
const (
	page  = "../../docs/evidence/sockets.md"
	begin = "<!-- the table: written by the test -->\n"
	end   = "<!-- end of the table -->\n"
)

// TestPage compares the page with the table.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the marks %q and %q", page, begin, end)
	}
	want := before + begin + markdown() + end + after
	if *rewrite {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("%s differs from the table; write it by: go test ./bubble/sockettest -run Page -rewrite", page)
	}
}

// markdown is the table in the format of the page.
func markdown() string {
	var b strings.Builder
	for _, g := range table {
		fmt.Fprintf(&b, "\n### %s\n\n| what is done | Linux | in a bubble |\n|---|---|---|\n", g.name)
		for _, r := range g.rows {
			linux, bubble := cell(r.linux), "same"
			if r.reference != "" {
				linux += "<br>(" + r.reference + ")"
			}
			if r.overlay != "" {
				bubble = "**" + cell(r.overlay) + "**<br>" + r.why
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.ReplaceAll(r.does, "|", "\\|"), linux, bubble)
		}
	}
	return b.String() + "\n"
}

// cell is an outcome in the format of the page.
func cell(outcome string) string { return "`" + strings.ReplaceAll(outcome, "; ", "`, `") + "`" }

// TestRows requires that every row is complete.
func TestRows(t *testing.T) {
	for _, g := range table {
		seen := map[string]bool{}
		for _, r := range g.rows {
			switch {
			case r.does == "" || r.do == nil || r.linux == "":
				t.Errorf("%s: %q is not complete", g.name, r.does)
			case (r.overlay == "") != (r.why == ""):
				t.Errorf("%s: %q must say why it differs, or not differ", g.name, r.does)
			case r.overlay == r.linux:
				t.Errorf("%s: %q does not differ", g.name, r.does)
			case seen[r.does]:
				t.Errorf("%s: %q is there twice", g.name, r.does)
			}
			seen[r.does] = true
		}
	}
}
