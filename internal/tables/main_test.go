package main

import (
	"io"
	"testing"

	"github.com/lockstep-go/lockstep/internal/page"
)

// The tables of the documentation are what the command prints.
func TestDocumentation(t *testing.T) {
	page.Section(t, "../../docs/strategies.md", "tables", func(w io.Writer) error { return (bench{3}).tables(t.Context(), w) })
}
