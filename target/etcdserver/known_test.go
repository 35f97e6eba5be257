//go:build lockstep_overlay

package etcdserver

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

var (
	known = flag.Int("known", 0, "runs in which each of the known bugs is looked for; 0: not at all")
	rate  = flag.Bool("rate", false, "make all of the runs, where a bug was found as well")
)

// The walks of the campaigns in docs/evidence/etcdserver.md, identical step by step. They cover a single-node cluster
// with kills, with power failures, with slow clients in short runs, with many kills in short runs, and without faults.
// The last isolates members for a while.
var (
	alone = strategy.Walk{
		Deliver: 600,
		Drop:    1,
		Timer:   1,
		Wait:    200,
		Request: 100,
		Crash:   4,
		Restart: 40,
		Down:    1,
		Steps:   2500,
	}
	briefly = strategy.Walk{
		Deliver: 600,
		Drop:    1,
		Timer:   1,
		Wait:    200,
		Request: 100,
		Crash:   4,
		Restart: 40,
		Down:    1,
		Steps:   1500,
	}
	slowly = strategy.Walk{
		Deliver: 600,
		Drop:    1,
		Timer:   1,
		Wait:    200,
		Request: 30,
		Crash:   3,
		Restart: 100,
		Down:    1,
		Steps:   1000,
	}
	restless = strategy.Walk{
		Deliver: 600,
		Drop:    1,
		Timer:   1,
		Wait:    200,
		Request: 100,
		Crash:   10,
		Restart: 60,
		Down:    1,
		Steps:   1500,
	}
	unharmed = strategy.Walk{Deliver: 600, Drop: 1, Timer: 1, Wait: 200, Request: 100, Steps: 2500}
	lags     = strategy.Walk{Deliver: 600, Drop: 1, Timer: 1, Wait: 150, Request: 60, Cut: 2, Heal: 4, Steps: 5000}
)

// writes and deletes are the operations of clients for bugs that need no others.
var (
	writes  = kv.Mix{Put: 4, Get: 1}
	deletes = kv.Mix{Put: 3, Delete: 3, Get: 1}
)

// bug is a reported bug. The campaign knows only the operations that it needs, and whether the cluster has a
// single node.
type bug struct {
	report     string // its number, and an index among several campaigns
	says       string
	since      int      // release that the campaign is for: it finds other bugs first in earlier ones
	last       int      // release with the bug, by its lineage
	properties []string // one of them reports the bug first
	needed     []deed   // without these events a run cannot show it
	cluster    Cluster
	strategy   strategy.Walk
	settle     int
	times      int // factor of the requested number of runs; larger for short runs
}

var bugs = []bug{
	{"14370", "a single-node cluster acknowledges a write before it is synced", 0, 4, stay, []deed{crash},
		Cluster{Nodes: 1, Power: 1, Clients: 4, Requests: 40}, briefly, Settle, 1},
	{"13766", "the applied index is stored before the entry's changes", 0, 2, stay, []deed{crash, backedUp}, kill(1),
		alone, 1000, 1},
	{"13766-three", "the same, with three members", 0, 2, []string{"equal-stores", "one-history"}, []deed{crash, backedUp},
		kill(3), alone, Settle, 1},
	{"17780", "a compacted revision is used again after a crash", 0, 13,
		append([]string{"equal-stores"}, stay...), []deed{deletion, unfinished},
		Cluster{Nodes: 1, Compactions: 900, Batch: 1, Clients: 2, Requests: 150, Mix: deletes}, slowly, 600, 4},
	{"18089", "a compaction removes the deletion that it must keep", 0, 15, []string{"watch-bookmarkable", resumable},
		[]deed{deletion, compacted, watching},
		Cluster{Nodes: 1, Compactions: 100, Watchers: 2, Clients: 4, Requests: 40, Mix: deletes}, unharmed, 0, 1},
	{"15220", "a watch confirms progress before it has delivered all events", 0, 7, []string{"watch-bookmarkable"},
		[]deed{progressed},
		Cluster{Watchers: 6, Snapshots: 5, Clients: 6, Requests: 40}, lags, 0, 1},
	{"15271", "a watch delivers events again after a snapshot", 0, 7, []string{"watch-unique"},
		[]deed{watching, snapshot},
		Cluster{Watchers: 6, NoProgressRequests: true, Snapshots: 5, Clients: 6, Requests: 40}, lags, 0, 1},
	{"20221", "a watch from a future revision delivers earlier events after a snapshot", 8, 21, []string{resumable},
		[]deed{watching, snapshot},
		Cluster{Watchers: 16, NoProgressRequests: true, Snapshots: 1, Clients: 6, Requests: 40}, lags, 0, 1},
	{"14685", "a crash during a defragmentation applies writes again", 3, 5, []string{"writes-happen-once"},
		[]deed{crash, defragmented},
		Cluster{Nodes: 1, Defragmentations: 300, Watchers: 2, NoProgressRequests: true, Readers: 1, Clients: 4,
			Requests: 60, Mix: writes, Sync: 100 * time.Millisecond}, restless, 0, 1},
	{"19179", "a start removes the deletion at the compacted revision", 16, 17,
		[]string{"watch-bookmarkable", resumable}, []deed{deletion, unfinished, watching},
		Cluster{Nodes: 1, Compactions: 900, Batch: 1, Watchers: 2, NoProgressRequests: true, Clients: 2, Requests: 150,
			Mix: deletes}, slowly, 600, 4},
	{"18667", "a read of a compacted revision in a transaction fails at one member alone", 0, line36,
		append([]string{"equal-stores"}, stay...), []deed{compacted},
		Cluster{EarlierReads: 60, Compactions: 40, Clients: 2, Requests: 30},
		strategy.Walk{Deliver: 600, Drop: 1, Timer: 1, Wait: 120, Request: 60, Steps: 2000}, 2000, 1},
}

// kill is a cluster whose members are killed while clients request whole stores, with slow syncs.
func kill(nodes int) Cluster {
	return Cluster{
		Nodes:    nodes,
		Backups:  300,
		Clients:  8,
		Requests: 60,
		Keys:     8,
		Mix:      writes,
		Sync:     100 * time.Millisecond,
	}
}

// stay are the properties that a lost write violates: it is missing, or another write has its revision.
var stay = []string{"acknowledged-writes-stay", "revisions-never-go-back"}

// resumable is a property that a bug violates which lagging members show for long, besides others.
const resumable = "watch-resumable"

// Campaigns find reported bugs in the versions that have them, and nothing in other versions, although the needed
// events occurred there.
func TestKnownBugs(t *testing.T) {
	if *known == 0 {
		t.Skip("no -known")
	}
	release := lineage(Version())
	for _, m := range bugs {
		t.Run(m.report, func(t *testing.T) {
			if release < m.since {
				t.Skip("in this release the campaign finds other bugs first")
			}
			warmUp(t, m.cluster) // outside the counts
			had, done, runs := release <= m.last, counted(t, m.needed), m.times**known
			r := campaign(
				t,
				lockstep.Plan{
					System:    m.cluster,
					Strategy:  m.strategy,
					Runs:      runs,
					Settle:    m.settle,
					KeepGoing: !had || *rate,
					Keep:      runs,
					Spec:      spec.All(Everything, done),
				},
			)
			found := 0
			for _, f := range r.Failures {
				t.Logf("%s: run %d: %s: %s %s", Version(), f.Run, f.Finding.Property, f.Finding.Text, f.Flaky)
				switch also := release <= 21 && m.settle == 0 && f.Finding.Property == resumable; {
				case had && slices.Contains(m.properties, f.Finding.Property):
					found++
				case !had && !also:
					t.Errorf("%s: run %d: %s", Version(), f.Run, f.Finding.Stack)
				}
			}
			t.Logf("%s: %s, %s: found in %d of %d runs, digest %016x; %s", m.report, m.says, Version(), found, r.Runs,
				r.Digest, done)
			switch {
			case had && found == 0:
				t.Errorf("%s: %s not found in %d runs", Version(), m.properties, r.Runs)
			case !had && done.with == 0:
				t.Errorf("%s: that nothing was found says nothing: no run had all of %v", Version(), m.needed)
			}
		})
	}
}
