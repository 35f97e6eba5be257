package etcdraft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/page"
)

// TestHowTo follows docs/test-your-raft.md from an empty directory.
func TestHowTo(t *testing.T) {
	(&page.Reader{Root: "../.."}).Follow(t, "../../docs/test-your-raft.md")
}
