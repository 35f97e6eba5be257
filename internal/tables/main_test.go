package main

import (
	"io"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// The tables of the documentation match the command's output.
func TestDocumentation(t *testing.T) {
	tier.OnlyFull(t, "it makes tables of measurements again")
	page.Section(t, "../../docs/evidence/strategies.md", "tables",
		func(w io.Writer) error { return (bench{3}).tables(t.Context(), w) })
}
