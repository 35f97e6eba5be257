package tendermint_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/reference"
	"github.com/lockstep-go/lockstep/target/tendermint"
	"github.com/lockstep-go/lockstep/target/tendermint/bftscenarios"
)

// The page about the target has all of its options and scenarios.
func TestReference(t *testing.T) {
	const page = "../../docs/reference/targets/tendermint.md"
	described := reference.Target(bftscenarios.Guided(tendermint.Targets)[0], bubble.FaultOptions{})
	if err := reference.Check(page, "options", described); err != nil {
		t.Error(err)
	}
}
