//go:build lockstep_overlay

package etcdserver

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/watch"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

func campaign(t *testing.T, plan lockstep.Plan) *lockstep.Result {
	t.Helper()
	if plan.Spec == nil {
		plan.Spec = Everything
	}
	plan.Seed, plan.Scratch = 1, "/dev/shm"
	if older {
		plan.KeepGoing, plan.Keep = true, plan.Runs // beyond known findings
	}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %v %v, %d steps, %d messages, checked %v, divergences %v, nondeterminism %q, events %v",
		result.Runs, result.Verdicts, result.Reasons, result.Steps, result.Messages, result.Checked, result.Divergences,
		result.Nondeterminism, result.Events)
	return result
}

// A cluster without faults elects a leader and answers.
func TestCalm(t *testing.T) {
	r := campaign(
		t,
		lockstep.Plan{
			System:   Cluster{},
			Strategy: strategy.Walk{Deliver: 40, Wait: 10, Request: 1, Steps: 2000},
			Runs:     2,
			Settle:   Settle,
		},
	)
	passed(t, r)
}

// Members that are not ready when a run ends, because no member heard from another, end as well. This holds in
// releases that can stop a server in this state.
func TestNeverReady(t *testing.T) {
	if lineage(Version()) < 18 {
		t.Skip("a server of this release cannot be ended before it is ready")
	}
	r := campaign(t, lockstep.Plan{System: Cluster{}, Strategy: strategy.Walk{Wait: 1, Steps: 50}, Runs: 1})
	passed(t, r)
}

// busy is a cluster with all operations of clients and operators. Progress requests of watchers fail in some releases
// ([TestAsking]). In these releases watchers do not request progress, so that runs test everything else.
var busy = Cluster{
	NoProgressRequests: has15220(Version()),
	Power:              0.5,
	Snapshots:          20,
	Clients:            4,
	Requests:           25,
	Mix:                kv.Mix{Put: 4, Get: 3, Cas: 2, Delete: 2, Txn: 2},
	Watchers:           3,
	Compactions:        20,
	Batch:              5,
	Defragmentations:   4,
	Backups:            4,
	Leases:             4,
	Learners:           4,
	Transfers:          4,
}

// faults cut links, crash members and break connections.
var faults = strategy.Walk{Deliver: 600, Drop: 1, Wait: 120, Request: 20, Cut: 1, Heal: 2, Crash: 1, Restart: 4,
	Steps: 3000}

// Members satisfy all properties through crashes, partitions and power failures, and runs check every property.
func TestFaults(t *testing.T) {
	r := campaign(t, lockstep.Plan{System: busy, Strategy: faults, Runs: *runs, Settle: Settle})
	allChecked(t, r, ofMembers, ofLeases, ofUsers, ofSpace, ofReaders)
	passed(t, r)
}

// The properties that only clusters with additional options check.
var (
	ofMembers = []string{"members-stay"}
	ofLeases  = []string{"leases-hold", "leases-end"}
	ofUsers   = []string{"only-the-permitted"}
	ofSpace   = []string{"full-stores-refuse"}
	ofReaders = []string{"reads-are-snapshots", "no-corruption-alarm"}
	ofTxns    = []string{"strict-serializable"}
)

// allChecked fails if a run never checked a property, except the named ones.
func allChecked(t *testing.T, r *lockstep.Result, others ...[]string) {
	t.Helper()
	but := append(slices.Concat(others...), ofTxns...) // see TestTransactions
	for _, j := range r.Checked {
		if j.N == 0 && !slices.Contains(but, j.Name) {
			t.Errorf("%s was never checked", j.Name)
		}
	}
}

// Leases hold, and expire.
func TestLeases(t *testing.T) {
	c := busy
	c.Holders, c.Failover = 3, 1
	r := campaign(t, lockstep.Plan{System: c, Strategy: faults, Runs: *runs, Settle: 2 * Settle})
	allChecked(t, r, ofMembers, ofUsers, ofSpace, ofReaders)
	clean(t, r)
}

// Users get only the access that they have rights to.
func TestUsers(t *testing.T) {
	c := busy
	c.Users = 3
	rights, wants := map[string]int{}, map[string]int{}
	r := campaign(
		t,
		lockstep.Plan{
			System:   c,
			Strategy: faults,
			Runs:     *runs,
			Settle:   2 * Settle,
			Spec:     spec.All(Everything, counts(EventRight, rights), counts(EventAccess, wants)),
		},
	)
	allChecked(t, r, ofMembers, ofLeases, ofSpace, ofReaders)
	if t.Log(rights, wants); rights[Done] == 0 || wants[Done] == 0 || wants[Refused] == 0 {
		t.Error("rights were never given, or never wanted")
	}
	clean(t, r)
}

// counts counts the kinds of an event.
func counts(event string, seen map[string]int) lockstep.Spec {
	return spec.OnEvent("seen", event, func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		_, what, _ := strings.Cut(fmt.Sprint(e.Value), ": ")
		seen[what]++
		return nil
	})
}

// changing is a cluster whose members change.
var changing = Cluster{
	NoProgressRequests: has15220(Version()),
	Power:              0.5,
	Snapshots:          20,
	Clients:            4,
	Requests:           40,
	Watchers:           3,
	Compactions:        10,
	Transfers:          4,
	Spares:             2,
	Changes:            60,
	Failover:           1,
}

// Members join and leave, and all properties hold.
func TestMembers(t *testing.T) {
	seen, kinds := map[string]int{}, 7
	if has13337(Version()) { // in none of the first ten runs of 3.4 the server refuses a removal
		kinds = 6
	}
	r := campaign(
		t,
		lockstep.Plan{
			System:   changing,
			Strategy: faults,
			Runs:     *runs,
			Settle:   3 * Settle,
			Spec:     spec.All(Everything, counts(EventMember, seen)),
		},
	)
	if t.Log(seen); len(seen) < kinds {
		t.Errorf("of seven kinds of news there were %v", seen)
	}
	passed(t, r)
}

// whole is a cluster with all options.
var whole = func() Cluster {
	c := busy
	c.Learners, c.Split = 0, 0.1
	c.Spares, c.Changes, c.Failover, c.Holders, c.Users = 2, 60, 1, 2, 2
	return c
}()

// crowded is a cluster with clients that read several keys at once, watches that deliver more, and stores that get
// full.
var crowded = func() Cluster {
	c := busy
	c.Learners, c.Readers, c.Previous, c.Fragments, c.Quota, c.Checks = 0, 2, true, true, 100, 5*time.Second
	return c
}()

// often is faults with more requests.
var often = func() strategy.Walk {
	w := faults
	w.Request = 60
	return w
}()

// Reads of several keys find the store at one revision, fragmented watch responses are complete, and the server's own
// check finds no corruption.
func TestReaders(t *testing.T) {
	c, long := crowded, 0
	c.Quota = 0
	many := spec.OnEvent(
		"many",
		watch.EventDelivered,
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			// With the previous values, that is more than fits into one answer.
			if len(e.Value.(*watch.Delivered).Changes) > 20 {
				long++
			}
			return nil
		},
	)
	r := campaign(
		t,
		lockstep.Plan{System: c, Strategy: often, Runs: max(*runs, 5), Settle: Settle, Spec: spec.All(Everything, many)},
	)
	allChecked(t, r, ofMembers, ofLeases, ofUsers, ofSpace)
	if t.Log(long); long == 0 {
		t.Error("no watch response was split")
	}
	clean(t, r)
}

// Full stores refuse writes that take space, and accept them again later.
func TestSpace(t *testing.T) {
	seen := map[string]int{}
	fills := spec.OnEvent("fills", EventFill, func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		seen[fmt.Sprint(e.Value)]++
		return nil
	})
	r := campaign(
		t,
		lockstep.Plan{
			System:   crowded,
			Strategy: often,
			Runs:     *runs,
			Settle:   2 * Settle,
			Spec:     spec.All(Everything, fills),
		},
	)
	allChecked(t, r, ofMembers, ofLeases, ofUsers)
	if t.Log(seen); len(seen) < 6 {
		t.Errorf("of six outcomes of requests for space there were %v", seen)
	}
	clean(t, r)
}

// Five members behave like three.
func TestFive(t *testing.T) {
	c := busy
	c.Nodes = 5
	r := campaign(t, lockstep.Plan{System: c, Strategy: faults, Runs: *runs, Settle: 3 * Settle})
	allChecked(t, r, ofMembers, ofLeases, ofUsers, ofSpace, ofReaders)
	passed(t, r)
}

// Runs are deterministic byte for byte, including the first in a process.
func TestRepetition(t *testing.T) {
	const fresh = "LOCKSTEP_FRESH_PROCESS"
	if os.Getenv(fresh) == "" {
		t.Setenv(fresh, "1")
		if !processes.Passes(t) {
			t.Error("runs of a fresh process do not repeat")
		}
		return
	}
	c := busy
	c.Split = 0.1
	for _, c := range []Cluster{c, whole, crowded} {
		plan := lockstep.Plan{System: c, Strategy: faults, Spec: Everything, Seed: 3, Scratch: "/dev/shm"}
		n := tier.Pick(2, 5)
		if r, err := bubble.Repetition(t.Context(), plan, n); err != nil || r.Same != n {
			t.Errorf("%d of %d runs repeated, the first that did not is %d, %v", r.Same, r.Of, r.First, err)
		}
	}
}

// Runs with all options are the same in two processes, whatever the processes did before.
func TestTwoProcesses(t *testing.T) {
	t.Setenv("LOCKSTEP_PROCESSES", cmp.Or(os.Getenv("LOCKSTEP_PROCESSES"), "2"))
	processes.Same(t, func(process int) []string {
		plan := lockstep.Plan{
			System:   whole,
			Strategy: faults,
			Spec:     Everything,
			Seed:     uint64(1000 + process),
			Scratch:  "/dev/shm",
		}
		if _, err := bubble.Digests(t.Context(), plan, process); err != nil {
			t.Fatal(err)
		}
		plan.Seed = 5
		digests, err := bubble.Digests(t.Context(), plan, 2**runs)
		if err != nil {
			t.Fatal(err)
		}
		return digests
	})
}

// exact is the number of runs that the tests compare among processes.
const exact = 50

// Runs are the same in all processes (make exact), including the first ones of each, and when a process reruns them.
// The test is too long for every day.
func TestExactly(t *testing.T) { exactly(t, busy) }

// Runs with all options and with joining and leaving members are the same in all processes, too.
func TestExactlyWhole(t *testing.T) { exactly(t, whole) }

func exactly(t *testing.T, cluster Cluster) {
	if os.Getenv("LOCKSTEP_PROCESSES") == "" {
		t.Skip("no LOCKSTEP_PROCESSES: the number of processes to compare")
	}
	processes.AllSame(t, exact, func() (rows []processes.Row) {
		for i := range processes.Times() {
			d, err := bubble.Digests(t.Context(),
				lockstep.Plan{System: cluster, Strategy: faults, Spec: Everything, Seed: 7, Scratch: "/dev/shm"}, exact)
			if err != nil {
				t.Fatal(err)
			}
			if rows = append(rows, processes.Row{Name: fmt.Sprint("time ", i+1), Outcomes: d}); !slices.Equal(d,
				rows[0].Outcomes) {
				t.Errorf("time %d differs from the first:\n%q\n%q", i+1, d, rows[0].Outcomes)
			}
		}
		return rows
	})
}

// A finished run leaves nothing behind: no goroutine of crashed members, no open file, no memory.
func TestNothingIsLeft(t *testing.T) {
	bench, err := lockstep.NewRunner(
		lockstep.Plan{System: whole, Strategy: faults, Spec: Everything, Seed: 7, Scratch: "/dev/shm"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bench.Close() }()
	before := used{}
	for n := range 2 * *runs {
		if _, err := bench.Record(t.Context(), n, nil); err != nil {
			t.Fatal(err)
		}
		switch n {
		case *runs - 1:
			before = inUse(t)
		case 2**runs - 1:
			if after := inUse(t); after.goroutines > before.goroutines+20 || after.files > before.files+5 ||
				after.bytes > before.bytes+100<<20 {
				t.Errorf("%+v after %d runs, %+v after %d", before, *runs, after, n+1)
			}
		}
	}
}

// used is the resource usage of a process.
type used struct {
	goroutines, files int
	bytes             uint64
}

func inUse(t *testing.T) used {
	t.Helper()
	runtime.GC()
	runtime.GC() // pooled memory survives one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	u := used{runtime.NumGoroutine(), len(files), m.HeapAlloc}
	t.Logf("%+v", u)
	return u
}

var runs = flag.Int("runs", tier.Pick(3, 5), "runs of a campaign")

// One run combines all options with faults, and all properties hold.
func TestWhole(t *testing.T) {
	r := campaign(t, lockstep.Plan{System: whole, Strategy: faults, Runs: *runs, Settle: 4 * Settle})
	allChecked(t, r, ofSpace, ofReaders)
	clean(t, r)
}
