package etcdserver

import (
	"testing"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/reference"
)

// The page about the target has all of its options.
func TestReference(t *testing.T) {
	const page = "../../docs/reference/targets/etcdserver.md"
	if err := reference.Check(page, "options", reference.Target(Targets[0], bubble.FaultOptions{})); err != nil {
		t.Error(err)
	}
}
