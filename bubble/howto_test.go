package bubble_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestHowTo follows docs/tutorials/goroutine-program.md from an empty directory. Its second half rebuilds the standard
// library, and runs in strict mode only.
func TestHowTo(t *testing.T) {
	tier.OnlyFull(t, "it builds the programs of a page, with the overlay and without")
	if bubble.Overlay {
		t.Skip("it is the same with the overlay")
	}
	r := page.Reader{Root: "..", Leaves: func(command string) bool {
		return os.Getenv("LOCKSTEP_STRICT") == "" && strings.Contains(command, "lockstep go")
	}}
	r.Follow(t, "../docs/tutorials/goroutine-program.md")
}
