package bubble_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestUpgradeTutorial follows docs/tutorials/upgrade.md from an empty directory.
func TestUpgradeTutorial(t *testing.T) {
	tier.OnlyFull(t, "it builds the programs of a page with the overlay")
	if bubble.Overlay {
		t.Skip("it is the same with the overlay")
	}
	(&page.Reader{Root: ".."}).Follow(t, "../docs/tutorials/upgrade.md")
}

// TestServerTutorial follows docs/tutorials/go-server.md from an empty directory.
func TestServerTutorial(t *testing.T) {
	tier.OnlyFull(t, "it builds the programs of a page with the overlay")
	if bubble.Overlay {
		t.Skip("it is the same with the overlay")
	}
	(&page.Reader{Root: ".."}).Follow(t, "../docs/tutorials/go-server.md")
}
