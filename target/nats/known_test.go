//go:build lockstep_overlay

package nats

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

var known = flag.Int("known", 0, "runs in which each of the known bugs is looked for; 0: not at all")

// Walks with power failures of any number of servers; with one power failure of one server, while others are paused;
// and with pauses alone.
var (
	blackouts = strategy.Walk{
		Deliver: 1500,
		Drop:    1,
		Timer:   1,
		Wait:    300,
		Request: 200,
		Crash:   1,
		Restart: 6,
		Down:    3,
		Steps:   4000,
	}
	once = strategy.Walk{
		Deliver: 6000,
		Drop:    1,
		Timer:   1,
		Wait:    1200,
		Request: 600,
		Crash:   2,
		Restart: 80,
		Pause:   8,
		Down:    1,
		Crashes: 1,
		Steps:   5000,
	}
	standing = strategy.Walk{Deliver: 6000, Drop: 1, Timer: 1, Wait: 1200, Request: 600, Pause: 8, Steps: 5000}
)

// minute lets servers pause for a minute.
var minute = bubble.FaultOptions{MaxPause: time.Minute}

// bugs are reported bugs, each with the faults that it needs. The campaigns know nothing else of them.
var bugs = []struct {
	report string
	as     []string // violated properties
	found  []string // versions in which a hundred runs have found the bug
	// fixed means that other versions have a fix. Otherwise all versions have the bug by default, and runs need not
	// show it.
	fixed   bool
	cluster Cluster
	walk    strategy.Walk
}{
	{"7564: what was acknowledged is lost when the power fails at a majority",
		[]string{"unique-numbers", "acknowledged-messages-stay"}, []string{"v2.12.1", "v2.15.2"}, false,
		Cluster{Power: 1, Clients: 4, Requests: 40}, blackouts},
	{"7567: so is it when it fails at one server while others are paused", []string{"unique-numbers"},
		[]string{"v2.15.2"}, false,
		Cluster{Power: 1, Clients: 4, Requests: 60, StepDowns: 6, FaultOptions: minute}, once},
	{"7594: a server that was paused forgets what it has not written", []string{"acknowledged-messages-stay"},
		[]string{"v2.12.1"}, true, Cluster{Clients: 4, Requests: 60, StepDowns: 6, FaultOptions: minute}, standing},
}

// Campaigns find reported bugs in the versions that have them. Servers that always sync satisfy all properties under
// the same faults, as do versions with a fix, and servers that are killed instead of losing power.
func TestKnownBugs(t *testing.T) {
	if *known == 0 {
		t.Skip("no -known")
	}
	for _, m := range bugs {
		t.Run(m.report[:4], func(t *testing.T) {
			r := looked(t, "as it is", m.cluster, m.walk)
			if slices.Contains(m.found, Version()) && !slices.ContainsFunc(r.Failures,
				func(f lockstep.Failure) bool { return slices.Contains(m.as, f.Finding.Property) }) {
				t.Errorf("%s: not found in %d runs", Version(), r.Runs)
			}
			if m.fixed && !slices.Contains(m.found, Version()) {
				nothing(t, r)
			}
			always := m.cluster
			always.SyncAlways = true
			nothing(t, looked(t, "sync always", always, m.walk))
			if killed := m.cluster; killed.Power > 0 {
				killed.Power = 0
				nothing(t, looked(t, "killed", killed, m.walk))
			}
		})
	}
}

// looked is a campaign that looks for a bug.
func looked(t *testing.T, how string, c Cluster, walk strategy.Walk) *lockstep.Result {
	t.Helper()
	r, err := lockstep.Explore(
		t.Context(),
		lockstep.Plan{
			System:    c,
			Strategy:  walk,
			Spec:      Everything,
			Runs:      *known,
			KeepGoing: true,
			Keep:      *known,
			Settle:    Settle,
			Seed:      1,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %s: %d runs, %v, checked %v, %v", Version(), how, r.Runs, r.Verdicts, r.Checked, r.Events)
	happened(t, r, EventAcknowledged) // otherwise a clean result is vacuous
	for _, f := range r.Failures {
		t.Logf("%s, %s: run %d: %s: %s", Version(), how, f.Run, f.Finding.Property, f.Finding.Text)
	}
	return r
}

// nothing fails if a campaign found something.
func nothing(t *testing.T, r *lockstep.Result) {
	t.Helper()
	for _, f := range r.Failures {
		t.Errorf("run %d: %s %s %s", f.Run, f.Finding, f.Finding.Stack, f.Flaky)
	}
}

// Operators move replicas one after the other, without waiting until the first exists elsewhere. The stream may then
// have one replica and no leader for minutes, although nothing crashed. A few runs need not show that.
func TestUncheckedMoves(t *testing.T) {
	r := settled(t, 20000, Cluster{Nodes: 5, StepDowns: 3, MetaStepDowns: 20, Moves: 2, UncheckedMoves: true}, calmly,
		max(*known, 3))
	if f := r.First(); f != nil {
		t.Logf("%s: run %d: %s", Version(), f.Run, f.Finding)
	}
	happened(t, r, EventMove)
}

// full has as many replicas as servers. The server refuses to move a replica, since no other server can take it.
var full = Cluster{Moves: 1}

// If the server refuses the removal of a replica, all replicas stay. Before v2.15 the server refuses it and does it.
func TestRefusedMove(t *testing.T) {
	r := settled(t, Settle, full, calmly, *runs)
	happened(t, r, EventRefused)
	fixed := !strings.HasPrefix(Version(), "v2.12.") && !strings.HasPrefix(Version(), "v2.14.")
	if f := r.First(); fixed != (f == nil) || f != nil && f.Finding.Property != "enough-replicas" {
		t.Errorf("%s: %v", Version(), f)
	}
}
