package hashicorpraft

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// hunts are campaigns without knowledge of the bugs that they find: settings and a strategy, the violated property,
// and the versions with the bug.
var hunts = map[string]struct {
	cluster  Cluster
	strategy lockstep.Strategy
	spec     lockstep.Spec
	settle   int
	runs     int
	property string
	versions []string // with the bug
}{
	// A node refuses the pre-vote of its own leader (#605, #606), and counts a granted pre-vote as contact with the
	// leader (#609).
	"pre-vote": {cluster: Cluster{}, strategy: strategy.Walk{Deliver: 20, Wait: 10, Request: 3, Crash: 1, Restart: 2,
		Cut: 1, Heal: 2, Steps: 300},
		spec: Safety, runs: 200, property: "pre-vote", versions: []string{"v1.7.0"}},
	// A voter that was demoted during its absence, in a newer term, deposes the leader repeatedly (#524, #526).
	"demoted": {cluster: Cluster{NoPreVote: true, Changes: 3, Requests: 2, Clients: 1, InFlight: 1},
		strategy: strategy.Walk{Deliver: 30, Wait: 20, Request: 6, Cut: 1, Heal: 1, Steps: 600},
		spec:     spec.All(Safety, Stable), settle: 4000, runs: 200, property: "stability",
		versions: []string{"v1.3.10"}},
	// When a follower rejects entries, the goroutine that sends them may wait indefinitely for space in the pipeline.
	// It keeps sending heartbeats, even when its node is no longer leader. This happens with at most two appends in
	// flight, the default of the library's transport since v1.4.1. The newest version still has the bug.
	"pipeline": {cluster: Cluster{NoPreVote: true, Changes: 3, Requests: 2, Clients: 1},
		strategy: strategy.Walk{Deliver: 30, Wait: 20, Request: 6, Cut: 1, Heal: 1, Steps: 600},
		spec:     NoGhosts, settle: 2000, runs: 400, property: "no-ghosts",
		versions: []string{"v1.7.0", "v1.7.1", "v1.7.3", "v1.8.0"}},
}

// Without pipelines no former leader keeps sending heartbeats.
func TestNoPipelineNoGhosts(t *testing.T) {
	h := hunts["pipeline"]
	h.cluster.InFlight = 1
	result := enginetest.Explore(t,
		lockstep.Plan{System: h.cluster, Strategy: h.strategy, Spec: NoGhosts, Runs: 50, Settle: h.settle, Seed: 1})
	if f := result.First(); f != nil || result.Checked[0].N == 0 {
		t.Errorf("%v, checked %v", f, result.Checked)
	}
}

// The campaigns find the bugs in the versions that had them, and in no other.
//
//	GOWORK=off go test -modfile $(go run ../../internal/modules modfile v1.7.0) -run KnownBugs .
//	GOWORK=off go test -modfile $(go run ../../internal/modules modfile v1.3.10) -tags v1.3 -run KnownBugs .
func TestKnownBugs(t *testing.T) {
	for name, h := range hunts {
		if name == "pipeline" && strings.HasPrefix(Version(), "v1.3.") { // its transport has capacity for 130
			continue
		}
		t.Run(name, func(t *testing.T) {
			result := enginetest.Explore(
				t,
				lockstep.Plan{
					System:      h.cluster,
					Strategy:    h.strategy,
					Spec:        h.spec,
					Runs:        h.runs,
					Settle:      h.settle,
					Seed:        1,
					Repetitions: 3,
				},
			)
			had := slices.Contains(h.versions, Version())
			f := result.First()
			t.Logf("%s %s: %d runs, %v %v", Version(), name, result.Runs, result.Verdicts, result.Checked)
			switch {
			case had && (f == nil || f.Finding.Property != h.property):
				t.Errorf("%s: found %+v, want a violation of %s", Version(), f, h.property)
			case !had && f != nil:
				t.Errorf("%s: run %d, %d of %d: %s\n%s", Version(), f.Run, f.Failed, f.Repeated, f.Finding,
					f.Finding.Stack)
			case had:
				t.Logf("run %d, failed in %d of %d: %s", f.Run, f.Failed, f.Repeated, f.Finding)
			}
		})
	}
}
