package lockstepform

import (
	"context"
	"errors"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Laying out a long run takes long, and stops when its context ends.
func TestLayersStop(t *testing.T) {
	var steps []*moment
	for range 10 {
		steps = append(steps, &moment{step: lockstep.Step{Kind: trace.Timer, Node: 1}, node: 1})
	}
	if _, err := byLayers(t.Context(), steps, 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := byLayers(ctx, steps, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
