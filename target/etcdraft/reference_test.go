package etcdraft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/reference"
	"github.com/lockstep-go/lockstep/target/etcdraft"
)

// The page about the target has all of its options.
func TestReference(t *testing.T) {
	const page = "../../docs/reference/targets/etcdraft.md"
	if err := reference.Check(page, "options", reference.Target(etcdraft.Targets[0])); err != nil {
		t.Error(err)
	}
}
