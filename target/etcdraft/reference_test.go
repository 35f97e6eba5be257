package etcdraft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/reference"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
)

// The page about the target has all of its options and scenarios.
func TestReference(t *testing.T) {
	const page = "../../docs/reference/targets/etcdraft.md"
	if err := reference.Check(page, "options", reference.Target(raftscenarios.Guided(etcdraft.Targets)[0])); err != nil {
		t.Error(err)
	}
}
