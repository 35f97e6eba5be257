package tendermint_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/reference"
	"github.com/lockstep-go/lockstep/target/tendermint"
	"github.com/lockstep-go/lockstep/target/tendermint/bftscenarios"
)

// The page about the target has all of its options and scenarios.
func TestReference(t *testing.T) {
	const page = "../../docs/reference/targets/tendermint.md"
	if err := reference.Check(page, "options", reference.Target(bftscenarios.Guided(tendermint.Targets)[0])); err != nil {
		t.Error(err)
	}
}
