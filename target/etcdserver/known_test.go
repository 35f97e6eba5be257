//go:build lockstep_overlay

package etcdserver

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/strategy"
)

var known = flag.Int("known", 0, "runs in which each of the known mistakes is looked for; 0: not at all")

// alone is a member by itself that is killed, or whose power fails; dense has more requests for each step of time; unharmed is a
// member by itself to which nothing happens; lags are members that are cut off for a while.
var (
	alone    = strategy.Walk{Deliver: 600, Wait: 200, Request: 100, Crash: 4, Restart: 40, Down: 1, Steps: 2500}
	dense    = strategy.Walk{Deliver: 600, Wait: 200, Request: 400, Crash: 5, Restart: 40, Down: 1, Steps: 2500}
	unharmed = strategy.Walk{Deliver: 600, Wait: 200, Request: 100, Steps: 2500}
	lags     = strategy.Walk{Deliver: 600, Wait: 150, Request: 60, Cut: 2, Heal: 4, Steps: 5000}
)

// writes and deletes are what clients do where a mistake needs no more.
var (
	writes  = kv.Mix{Put: 4, Get: 1}
	deletes = kv.Mix{Put: 3, Delete: 3, Get: 1}
)

// mistakes are those that were reported, each with the last release of 3.5 that has it and the properties one of which tells of it
// first. The campaigns know nothing of them but the operations that they need, and whether members are alone.
var mistakes = []struct {
	report     string
	last       int // of 3.5
	properties []string
	cluster    Cluster
	strategy   strategy.Walk
	settle     int
}{
	{"14370: a member by itself acknowledges a write before it is synced", 4, stay, Cluster{Nodes: 1, Power: 1, Clients: 4, Requests: 40}, alone, 1000},
	{"13766: that an entry was applied is stored before what it changed", 2, stay,
		Cluster{Nodes: 1, Backups: 300, Clients: 8, Requests: 60, Keys: 8, Mix: writes, Sync: 100 * time.Millisecond}, alone, 1000},
	{"17780: a revision that was compacted is used again after a crash", 13, []string{"equal-stores", "revisions-never-go-back"},
		Cluster{Nodes: 1, Compactions: 900, Batch: 2, Clients: 2, Requests: 100, Mix: deletes}, dense, 600},
	{"18089: a compaction takes the deletion that it is to keep", 15, []string{"watch-bookmarkable", resumable},
		Cluster{Nodes: 1, Compactions: 100, Watchers: 2, Clients: 4, Requests: 40, Mix: deletes}, unharmed, 0},
	{"15220: a watch tells that it told all when it did not", 7, []string{"watch-bookmarkable"}, Cluster{Watchers: 6, Snapshots: 5, Clients: 6, Requests: 40}, lags, 0},
	{"15271: a watch tells again what it told before a snapshot came", 7, []string{"watch-unique"}, unasking, lags, 0},
	{"20221: a watch from a revision to come tells of earlier ones when a snapshot came", 21, []string{resumable}, unasking, lags, 0},
}

// unasking are members whose watchers do not ask how far they are: the answer would hide what is wrong.
var unasking = Cluster{Watchers: 6, Unasking: true, Snapshots: 5, Clients: 6, Requests: 40}

// stay is what a mistake breaks that loses a write.
var stay = []string{"acknowledged-writes-stay"}

// resumable is the property that a mistake breaks which members that lag have for long, beside others.
const resumable = "watch-resumable"

// Mistakes that were reported are found in the versions that have them, and nothing in others.
func TestKnownMistakes(t *testing.T) {
	if *known == 0 {
		t.Skip("no -known")
	}
	release := lineage(Version())
	for _, m := range mistakes {
		t.Run(m.report[:5], func(t *testing.T) {
			if m.properties[0] == resumable && release <= 7 {
				t.Skip("15271 comes first")
			}
			began := time.Now()
			broken := release <= m.last
			r := campaign(t, lockstep.Plan{System: m.cluster, Strategy: m.strategy, Runs: *known, Settle: m.settle, KeepGoing: !broken, Keep: *known})
			if broken && !slices.ContainsFunc(r.Found, func(f lockstep.Found) bool { return slices.Contains(m.properties, f.Finding.Property) }) {
				t.Errorf("%s: %s not found in %d runs", Version(), m.properties, r.Runs)
			}
			for _, f := range r.Found {
				t.Logf("%s: run %d of %d, %.0f s: %s: %s", Version(), f.Run, r.Runs, time.Since(began).Seconds(), f.Finding.Property, f.Finding.Text)
				if also := release <= 21 && m.settle == 0 && f.Finding.Property == resumable; !broken && !also {
					t.Errorf("%s %s", f.Finding.Stack, f.Flaky)
				}
			}
		})
	}
}

// lineage is the number of a release of 3.5, and a large one for later lines.
func lineage(version string) (release int) {
	if n, _ := fmt.Sscanf(version, "v3.5.%d", &release); n == 1 {
		return release
	}
	return 1 << 20
}
