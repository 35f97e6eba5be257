//go:build lockstep_overlay

package etcdserver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metric "github.com/prometheus/client_model/go"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/watch"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// deed is an event in runs that a bug needs in order to show.
type deed int

const (
	crash        deed = iota // of a member
	cut                      // of links
	deletion                 // an acknowledged one
	watching                 // a watch was opened
	progressed               // a watch reported its progress
	backedUp                 // a member sent its whole store
	compacted                // a member began to compact, or continued
	unfinished               // a compaction that a member did not finish
	snapshot                 // a lagging member received one
	defragmented             // a member's file
	allDeeds
)

func (d deed) String() string {
	return [...]string{"crashes", "cuts", "deletions", "watches", "progress notifications", "backups", "compactions",
		"compactions not ended", "snapshots received", "defragmentations"}[d]
}

// deeds is a spec that always holds, and counts events in runs: by steps, by events, and by the server's own metrics,
// which are global in the process.
type deeds struct {
	needed     []deed
	metrics    map[deed]prometheus.Collector
	before     map[deed]int // of the metrics
	run        [allDeeds]int
	runs, with int           // with all needed events
	total, in  [allDeeds]int // occurrences, and runs with at least one
}

// counted counts the events in runs, some of which are needed.
func counted(t *testing.T, needed []deed) *deeds {
	t.Helper()
	histogram := func(space, system, name, help string) prometheus.Collector {
		return registered(
			t,
			prometheus.NewHistogram(
				prometheus.HistogramOpts{Namespace: space, Subsystem: system, Name: name, Help: help}),
		)
	}
	received := prometheus.CounterOpts{
		Namespace: "etcd",
		Subsystem: "network",
		Name:      "snapshot_receive_success",
		Help:      "Total number of successful snapshot receives",
	}
	return &deeds{needed: needed, before: map[deed]int{}, metrics: map[deed]prometheus.Collector{
		compacted: histogram("etcd_debugging", "mvcc", "index_compaction_pause_duration_milliseconds",
			"Bucketed histogram of index compaction pause duration."),
		unfinished: histogram("etcd_debugging", "mvcc", "db_compaction_total_duration_milliseconds",
			"Bucketed histogram of db compaction total duration."),
		backedUp: histogram("etcd", "disk", "backend_snapshot_duration_seconds",
			"The latency distribution of backend snapshots."),
		defragmented: histogram("etcd", "disk", "backend_defrag_duration_seconds",
			"The latency distribution of backend defragmentation."),
		snapshot: registered(t, prometheus.NewCounterVec(received, []string{"From"})),
	}}
}

// registered is the server's metric that equals another one. Gathering all metrics would ask crashed members, too,
// which may hold locks.
func registered(t *testing.T, like prometheus.Collector) prometheus.Collector {
	t.Helper()
	var there prometheus.AlreadyRegisteredError
	if err := prometheus.Register(like); !errors.As(err, &there) {
		t.Fatalf("the server has no such metric: %v", err)
	}
	return there.ExistingCollector
}

// times is the value of a counter over all its labels.
func times(c prometheus.Collector) (n int) {
	all := make(chan prometheus.Metric, 1000)
	c.Collect(all)
	close(all)
	for one := range all {
		var m metric.Metric
		if err := one.Write(&m); err != nil {
			panic(err) // it is the server's own
		}
		n += int(m.GetCounter().GetValue()) + int(m.GetHistogram().GetSampleCount())
	}
	return n
}

// Properties returns none.
func (*deeds) Properties() []string { return nil }

// New returns the spec itself: a process executes one run at a time.
func (d *deeds) New(lockstep.Info) lockstep.Monitor { return d }

// Reset begins a run.
func (d *deeds) Reset() {
	d.run = [allDeeds]int{}
	for what, m := range d.metrics {
		d.before[what] = times(m)
	}
}

// Step counts steps and events.
func (d *deeds) Step(run *lockstep.Run) *lockstep.Finding {
	switch run.Last().Kind {
	case trace.Crash:
		d.run[crash]++
	case trace.Cut:
		d.run[cut]++
	}
	for _, e := range run.Events() {
		switch v := e.Value.(type) {
		case *watch.Opened:
			d.run[watching]++
		case *watch.Wrote:
			if v.Changes[0].Deleted {
				d.run[deletion]++
			}
		case *watch.Delivered:
			if v.Progress > 0 {
				d.run[progressed]++
			}
		}
	}
	return nil
}

// End returns nil.
func (*deeds) End(*lockstep.Run) *lockstep.Finding { return nil }

func (*deeds) EventsOnly() bool { return false }

// Conclude adds a run, or a rerun.
func (d *deeds) Conclude(bool) lockstep.Conclusion {
	for what, m := range d.metrics {
		d.run[what] = times(m) - d.before[what]
	}
	d.run[unfinished] = d.run[compacted] - d.run[unfinished]
	all := true
	for what, n := range d.run {
		d.total[what] += n
		d.in[what] += min(n, 1)
	}
	for _, what := range d.needed {
		all = all && d.run[what] > 0
	}
	d.runs++
	if all {
		d.with++
	}
	return lockstep.Conclusion{}
}

// String lists the counts as text.
func (d *deeds) String() string {
	var list []string
	for what, n := range d.total {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %s in %d runs", n, deed(what), d.in[what]))
		}
	}
	return fmt.Sprintf("%d of %d runs, with repetitions, had all of %v: %s", d.with, d.runs, d.needed,
		strings.Join(list, ", "))
}

// warmUp warms the process up for a cluster.
func warmUp(t *testing.T, c Cluster) {
	d, err := c.Deploy(t.Context(), &lockstep.Env{})
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The spec counts the events that occur in runs, and no others.
func TestDeeds(t *testing.T) {
	warmUp(t, busy)
	much := counted(t, []deed{crash, cut, deletion, watching, progressed, backedUp, compacted})
	campaign(t, lockstep.Plan{System: busy, Strategy: faults, Runs: *runs, Spec: spec.All(Everything, much)})
	little := counted(t, []deed{crash})
	campaign(
		t,
		lockstep.Plan{
			System:   Cluster{},
			Strategy: strategy.Walk{Deliver: 40, Wait: 10, Request: 1, Steps: 2000},
			Runs:     2,
			Spec:     spec.All(Everything, little),
		},
	)
	if t.Log(much, little); much.with == 0 || little.with > 0 || little.runs < 2 || little.total != [allDeeds]int{} {
		t.Errorf("%v, and where hardly anything happens %v", much, little)
	}
}
