package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// TestDocumentation checks that the tables of the documentation are what the command
// prints.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/strategies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "<!-- tables -->\n")
	want, _, end := strings.Cut(rest, "<!-- end of tables -->\n")
	if !ok || !end {
		t.Fatal("docs/strategies.md has no tables between its two marks")
	}
	var got bytes.Buffer
	if err := (bench{3}).tables(context.Background(), &got); err != nil {
		t.Fatal(err)
	}
	is, have := strings.Split(want, "\n"), strings.Split(got.String(), "\n")
	at := func(lines []string, i int) string { return append(lines, "nothing")[min(i, len(lines))] }
	for i := range max(len(is), len(have)) {
		if at(is, i) != at(have, i) {
			t.Fatalf("line %d of the tables is\n%s\nbut go run ./internal/tables prints\n%s", i+1, at(is, i), at(have, i))
		}
	}
}
