package bftsmart_test

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
	"github.com/lockstep-go/lockstep/kit/published"
	"github.com/lockstep-go/lockstep/target/bftsmart"
	"github.com/lockstep-go/lockstep/trace"
)

// checked returns a plan for one run that fails if the scenario does not succeed.
func checked(c published.Case) lockstep.Plan {
	return bftsmart.Plan(c.Build(true).MustSucceed(), 1, *seed)
}

// shows reports whether a run shows what its case is about: a success, or a finding if the case is about a defect.
func shows(c published.Case, o trace.Outcome) bool {
	if bftsmart.Violates(c.Name) == "" {
		return o.Verdict == trace.Pass
	}
	return servertest.Violates(bftsmart.Violates(c.Name))(o)
}

// recorded is a run of each scenario and of each defect.
func recorded() (all []servertest.Recorded) {
	for _, c := range slices.Concat(bftsmart.Cases, bftsmart.Defects) {
		all = append(all, servertest.Recorded{
			Name:  c.Name,
			Plan:  checked(c),
			Next:  1,
			Shows: func(o trace.Outcome) bool { return shows(c, o) },
		})
	}
	return all
}

// With -args -store . the test records a run of each scenario.
func TestStore(t *testing.T) { servertest.Store(t, recorded()...) }

// A recorded run shows the same behavior again. Every scenario has a recorded run.
func TestReplay(t *testing.T) { servertest.Replay(t, "^ExecutedTwice$", recorded()...) }
