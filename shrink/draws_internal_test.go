package shrink

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/trace"
)

// A node that takes the role of another has the draws of that node.
func TestDrawsGoWithTheirNode(t *testing.T) {
	crash := trace.Action{
		Step:  trace.Step{Kind: trace.Crash, Node: 2},
		Draws: []trace.Draw{{N: 9}, {By: 2, N: 5}, {By: 1, N: 6}},
	}
	was := slices.Clone(crash.Draws)
	if got := played(crash, 2, 3); got.Step.Node != 3 ||
		!slices.Equal(got.Draws, []trace.Draw{{N: 9}, {By: 3, N: 5}, {By: 1, N: 6}}) {
		t.Errorf("with node 3 for 2: %v", got)
	}
	if got := renamed(crash, 1, 3); got.Step.Node != 3 ||
		!slices.Equal(got.Draws, []trace.Draw{{N: 9}, {By: 3, N: 5}, {By: 2, N: 6}}) {
		t.Errorf("with the next node for each: %v", got)
	}
	s := schedule{
		phases: []phase{{start: make([]int, 3)}, {start: make([]int, 3), acts: []act{{0, crash.Step, crash.Draws}}}},
	}
	if got := s.withoutPhase(0, 1).phases[0].acts[0]; got.step.Node != 3 ||
		!slices.Equal(got.draws, []trace.Draw{{N: 9}, {By: 3, N: 5}, {By: 2, N: 6}}) {
		t.Errorf("without a phase: %v", got)
	}
	if !slices.Equal(crash.Draws, was) {
		t.Errorf("the action itself was changed: %v", crash.Draws)
	}
}

// Without attempts left, no candidates are created.
func TestNothingIsMadeForNothing(t *testing.T) {
	long := make(script, 1000)
	for i := range long {
		long[i].Step.Kind = trace.Wait
		long[i].Draws = []trace.Draw{{N: 1 << 30}, {N: 1 << 30}}
	}
	s := &shrinker{ctx: t.Context()}
	if n := testing.AllocsPerRun(1, func() { s.simpler(s.fewer(long)) }); n > 10 {
		t.Errorf("%v pieces of memory for candidates that are not tried", n)
	}
}
