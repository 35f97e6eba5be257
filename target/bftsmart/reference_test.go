package bftsmart

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/reference"
)

// The page about the target has all of its options.
func TestReference(t *testing.T) {
	err := reference.Check("../../docs/reference/targets/bftsmart.md", "options", reference.Target(Target))
	if err != nil {
		t.Error(err)
	}
}
