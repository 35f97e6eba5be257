package etcdraft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/page"
)

// TestHowTo follows docs/tutorials/etcd-raft.md from an empty directory.
func TestHowTo(t *testing.T) {
	(&page.Reader{Root: "../.."}).Follow(t, "../../docs/tutorials/etcd-raft.md")
}
