//go:build lockstep_overlay

package etcdserver

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
)

// A transaction that reads a compacted revision and puts a key fails at the member that has the client. Before 3.7 the
// others skip the read, put the key, and have another store (etcd-io/etcd#18667).
func TestEarlierReads(t *testing.T) {
	m := bugs[slices.IndexFunc(bugs, func(m bug) bool { return m.report == "18667" })]
	r := campaign(t, lockstep.Plan{System: m.cluster, Strategy: m.strategy, Runs: 4, Settle: m.settle})
	f := r.First()
	if had := lineage(Version()) <= m.last; had != (f != nil) {
		t.Fatalf("in %d runs of %s: %+v", r.Runs, Version(), f)
	}
	if f != nil && !slices.Contains(m.properties, f.Finding.Property) {
		t.Errorf("%s", f.Finding)
	}
}
