package etcdraft_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/trace"
)

// late is a spec that the second election of a run violates, so that there are traces to compare.
var late = spec.OnEvent(
	"late",
	raftspec.BecameLeader,
	func(elections *int, _ *lockstep.Run, _ *lockstep.Event) *lockstep.Finding {
		if *elections++; *elections < 2 {
			return nil
		}
		return &lockstep.Finding{Text: "two elections"}
	},
)

// digests hashes the steps of many runs and the traces of some, for both versions.
func digests(workers int) (string, error) {
	var all strings.Builder
	c := etcdraft.Cluster{Nodes: 5, Voters: 4, Changes: 2, Transfers: 2, Compact: 4}
	async := c
	async.Async = true
	for _, sys := range []lockstep.System{c, v35.Cluster(c), async} {
		for _, s := range strategies {
			r, err := lockstep.Explore(
				context.Background(),
				lockstep.Plan{System: sys, Strategy: s, Spec: spec.All(etcdraft.Everything, late),
					Seed: 7, Runs: 40, Steps: 200, Workers: workers, KeepGoing: true, Keep: 2},
			)
			if err != nil {
				return "", err
			}
			if r.First() == nil {
				return "", fmt.Errorf("%s has no trace to compare", s)
			}
			h := fnv.New64a()
			for _, f := range r.Failures {
				if f.Finding.Property != "late" || f.Flaky != "" {
					return "", fmt.Errorf("%s %s", f.Finding, f.Flaky)
				}
				if err := trace.Write(h, f.Trace); err != nil {
					return "", err
				}
			}
			fmt.Fprintf(&all, "%s %s %x %x %v\n", r.Target, s, r.Digest, h.Sum64(), r.Checked)
		}
	}
	return all.String(), nil
}

// TestDeterminism compares fresh processes, every second one with two workers.
func TestDeterminism(t *testing.T) {
	processes.Same(t, func(process int) []string {
		text, err := digests(1 + process%2)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(text), "\n")
	})
}
