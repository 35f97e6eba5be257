package main

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// The commands on the first pages for newcomers work, and print what the pages show.
func TestPages(t *testing.T) {
	tier.NotShort(t)
	for _, tool := range []string{"sh", "make", "go"} {
		outside.Program(t, tool)
	}
	for _, file := range []string{
		"README.md",
		"docs/tutorials/first-bug.md",
		"docs/how-to/choose-a-strategy.md",
		"docs/how-to/measure-coverage.md",
		"docs/how-to/read-a-failure.md",
		"docs/how-to/reproduce-and-debug.md",
		"docs/how-to/shrink.md",
		"docs/how-to/write-a-spec.md",
		"docs/how-to/write-scenarios.md",
		"docs/evidence/track-record.md",
		"docs/concepts/strategies.md",
		"docs/reference/targets.md",
	} {
		t.Run(file, func(t *testing.T) {
			if file == "docs/evidence/track-record.md" {
				tier.OnlyFull(t, "it builds two targets and makes thousands of runs")
			}
			(&page.Reader{Root: "../.."}).Follow(t, "../../"+file)
		})
	}
}
