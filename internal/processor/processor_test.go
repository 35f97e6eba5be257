package processor_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/processor"
)

func TestUsed(t *testing.T) {
	before, x := processor.Used(), 0
	for i := range 50_000_000 {
		x += i ^ x
	}
	if after := processor.Used(); after <= before {
		t.Errorf("no time was used between %v and %v (%d)", before, after, x)
	}
}
