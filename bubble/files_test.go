//go:build lockstep_overlay && linux && amd64

package bubble_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// storm crashes and restarts nodes.
var storm = strategy.Walk{Wait: 10, Crash: 1, Restart: 3, Steps: 60}

// count is how many numbers a node has written, or found at its start; -1 if they are damaged.
type count struct {
	found bool
	n     int
}

// keeper writes numbers to a file and reports each one as durable; after a start it reports how many the file has.
func keeper(sync bool) func(*bubble.Node) error {
	return func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, "numbers"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		size, err := f.Seek(0, 2)
		if err != nil {
			return err
		}
		n.Emit("count", count{true, int(size / 8)})
		for i := int(size / 8); i < 100; i++ {
			if _, err := fmt.Fprintf(f, "%07d\n", i); err != nil {
				return err
			}
			if sync {
				if err := f.Sync(); err != nil {
					return err
				}
			}
			n.Emit("count", count{false, i + 1})
		}
		<-n.Context().Done()
		return nil
	}
}

// kept is the property that a node finds after a crash what it has kept.
func kept() lockstep.Spec {
	return spec.OnEvent("kept", "count", func(kept *[64]int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		c := e.Value.(count)
		if c.found && c.n < kept[e.Node] {
			return &lockstep.Finding{Text: fmt.Sprintf("node %d kept %d, found %d", e.Node, kept[e.Node], c.n)}
		}
		kept[e.Node] = c.n
		return nil
	})
}

// memory is a directory in memory, if there is one: real disks are slow, and are not tested here.
func memory() string {
	const dir = "/dev/shm"
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// faultPlan is a plan in which nodes crash.
func faultPlan(runs int, files bubble.Files, start func(*bubble.Node) error, checker lockstep.Spec) lockstep.Plan {
	cluster := bubble.Cluster{Name: "files", Nodes: 3, Freeze: &bubble.Freeze{Files: &files}, Start: start}
	return lockstep.Plan{System: cluster, Strategy: storm, Spec: checker, Runs: runs, Seed: 3, Scratch: memory()}
}

// underFaults performs runs in which nodes crash, and checks that they are deterministic.
func underFaults(t *testing.T, runs int, files bubble.Files, start func(*bubble.Node) error,
	checker lockstep.Spec) *lockstep.Result {
	t.Helper()
	plan := faultPlan(runs, files, start, checker)
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := bubble.Repetition(t.Context(), plan, runs/10); err != nil || r.Same != r.Of {
		t.Errorf("%d of %d runs repeated, the first that did not is %d, %v", r.Same, r.Of, r.First, err)
	}
	return result
}

// A power failure loses written data without a sync, and keeps it with one. A crash of the process alone loses nothing.
func TestPowerFailure(t *testing.T) {
	for _, level := range []disk.Level{disk.Ext4, disk.POSIX} {
		for _, c := range []struct {
			sync  bool
			power float64
			found bool
		}{{false, 1, true}, {true, 1, level == disk.POSIX}, {false, 0, false}} {
			result := underFaults(t, 30, bubble.Files{DiskLevel: level, PowerFailures: c.power}, keeper(c.sync), kept())
			if f := result.First(); (f != nil) != c.found {
				t.Errorf("%s, sync %v, %v of crashes are power failures: %+v", level, c.sync, c.power, f)
			}
		}
	}
}

// The model and the node treat a file with O_SYNC as synced with each write, also in a power failure. The kernel does
// not get the flag, because a real disk would take real time.
func TestOpenedToSync(t *testing.T) {
	start := func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, "numbers"), os.O_RDWR|os.O_CREATE|os.O_SYNC, 0o600)
		if err != nil {
			return err
		}
		size, err := f.Seek(0, 2)
		if err != nil {
			return err
		}
		seen, _, _ := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0)
		real, _, _ := syscall.RawSyscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0) // not served by the model
		if seen&syscall.O_SYNC != syscall.O_SYNC || real&syscall.O_SYNC != 0 {
			return fmt.Errorf("the flags are %x, and %x to the kernel", seen, real)
		}
		n.Emit("count", count{true, int(size)})
		for i := int(size); n.Context().Err() == nil; i++ {
			if _, err := f.Write([]byte{1}); err != nil {
				return err
			}
			n.Emit("count", count{false, i + 1})
		}
		return nil
	}
	if f := underFaults(t, 30, bubble.Files{PowerFailures: 1}, start, kept()).First(); f != nil {
		t.Errorf("%+v", f)
	}
}

// listing makes files and reports the order of their names in the directory, and checks it again after a rewind.
func listing(n *bubble.Node) error {
	dir, err := n.Dir()
	if err != nil {
		return err
	}
	for i := range 200 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("a rather long name of a file, %03d", i)), nil,
			0o600); err != nil {
			return err
		}
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	if err != nil || len(names) != 200 {
		return fmt.Errorf("%d names, %w", len(names), err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		return err
	}
	if again, err := f.Readdirnames(-1); err != nil || !slices.Equal(again, names) {
		return fmt.Errorf("%d names again, %w", len(again), err)
	}
	n.Emit("listed", names)
	return f.Close()
}

// The order of names in a directory is the run's, whatever file system has the directory.
func TestOrderOfNames(t *testing.T) {
	orders := map[string][]string{}
	for _, scratch := range []string{"", t.TempDir(), "/dev/shm"} {
		if _, err := os.Stat(scratch); scratch != "" && err != nil {
			continue
		}
		var seen []string
		checker := spec.OnEvent(
			"listed",
			"listed",
			func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
				seen = append(seen, strings.Join(e.Value.([]string), ","))
				return nil
			},
		)
		plan := lockstep.Plan{
			System: bubble.Cluster{
				Name:   "names",
				Nodes:  1,
				Freeze: &bubble.Freeze{Files: &bubble.Files{}},
				Start:  listing,
			},
			Strategy: strategy.Walk{Wait: 1, Steps: 2},
			Spec:     checker,
			Runs:     3,
			Seed:     4,
			Scratch:  scratch,
		}
		if result, err := lockstep.Explore(t.Context(), plan); err != nil || result.First() != nil || len(seen) != 3 {
			t.Fatalf("%v, %+v, %d lists", err, result.First(), len(seen))
		}
		if seen[0] == seen[1] || seen[1] == seen[2] {
			t.Error("runs have one order")
		}
		orders[scratch] = seen
	}
	for scratch, seen := range orders {
		if !slices.Equal(seen, orders[""]) {
			t.Errorf("in %q the order is another one", scratch)
		}
	}
}

// tickets limits the process to one node that syncs at a time.
var tickets chan struct{}

// writeNew creates, writes and syncs a file.
func writeNew(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, "x")
	return errors.Join(err, f.Sync(), f.Close())
}

// A node that crashes while it holds a lock of all nodes keeps it until the end of the run. With a grace time the node
// releases the lock before it freezes.
func TestGrace(t *testing.T) {
	start := func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		for n.Alive() {
			tickets <- struct{}{}
			err := writeNew(filepath.Join(dir, fmt.Sprint(n.Incarnation())))
			<-tickets
			if err != nil {
				return err
			}
			n.Emit("count", count{false, 1})
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	var beats [2]int
	for i, grace := range []time.Duration{0, 50 * time.Millisecond} {
		plan := faultPlan(
			30,
			bubble.Files{PowerFailures: 0.5},
			start,
			spec.OnEvent("beat", "count", func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
				beats[i]++
				return nil
			}),
		)
		cluster := plan.System.(bubble.Cluster)
		cluster.Freeze.Grace, cluster.Begin = grace, func(*bubble.World) { tickets = make(chan struct{}, 1) }
		plan.System = cluster
		result, err := lockstep.Explore(t.Context(), plan)
		if err != nil || result.First() != nil {
			t.Fatalf("%+v, %v", result.First(), err)
		}
		if r, err := bubble.Repetition(t.Context(), plan, 10); err != nil || r.Same != r.Of {
			t.Errorf("%d of %d runs repeated, the first that did not is %d, %v", r.Same, r.Of, r.First, err)
		}
	}
	if beats[1] < 4*beats[0] {
		t.Errorf("%d beats without a grace, %d with one", beats[0], beats[1])
	}
}

// deceived counts how often a node read from memory something other than it had written to the file.
var deceived int

// A node in its grace time never reads from a mapping that its write to the file is missing.
func TestMappingInGrace(t *testing.T) {
	start := func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		file, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(n.Incarnation())), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		if err := file.Truncate(4096); err != nil {
			return err
		}
		memory, err := syscall.Mmap(int(file.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
		if err != nil {
			return err
		}
		for i := byte(1); n.Context().Err() == nil; i++ {
			if _, err := file.WriteAt([]byte{i}, 0); err != nil {
				return err
			}
			if memory[0] != i {
				deceived++
			}
			n.Emit("count", count{false, 1})
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	deceived = 0
	plan := faultPlan(30, bubble.Files{PowerFailures: 0.5}, start, nil)
	cluster := plan.System.(bubble.Cluster)
	cluster.Freeze.Grace = 50 * time.Millisecond
	plan.System = cluster
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil || result.First() != nil || deceived > 0 {
		t.Fatalf("%+v, %v, deceived %d times", result.First(), err, deceived)
	}
}

// Beyond the number of incarnations that the runtime can distinguish, the run is inconclusive, and no frozen goroutine
// is thawed.
func TestManyIncarnations(t *testing.T) {
	start := func(n *bubble.Node) error {
		for n.Context().Err() == nil {
			n.Emit("incarnation", n.Incarnation())
			time.Sleep(time.Second)
		}
		return nil
	}
	most := 0
	checker := spec.OnEvent("in-order", "incarnation",
		func(last *int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			incarnation := e.Value.(int)
			if most = max(most, incarnation); incarnation < *last {
				return &lockstep.Finding{Text: fmt.Sprintf("incarnation %d after incarnation %d", incarnation, *last)}
			}
			*last = incarnation
			return nil
		})
	result, err := lockstep.Explore(
		t.Context(),
		lockstep.Plan{
			System:   bubble.Cluster{Name: "incarnations", Nodes: 1, Freeze: &bubble.Freeze{Grace: time.Second}, Start: start},
			Spec:     checker,
			Strategy: strategy.Walk{Crash: 1, Restart: 1, Wait: 1, Down: 1, Steps: 2000},
			Runs:     1,
			Seed:     1,
		},
	)
	if err != nil || result.First() != nil ||
		!strings.Contains(fmt.Sprint(result.Reasons), "node 1 has had 255 incarnations") ||
		most != 255 {
		t.Errorf("%d incarnations, %v, %+v", most, err, result)
	}
}

// A killed process leaves its files as they were, and its locks are free.
func TestKilled(t *testing.T) {
	start := func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			return err
		}
		data := make([]byte, 1)
		if _, err := f.ReadAt(data, 0); n.Incarnation() > 1 && (err != nil || int(data[0]) != n.Incarnation()-1) {
			return fmt.Errorf("in incarnation %d there is %d, %w", n.Incarnation(), data, err)
		}
		if _, err := f.WriteAt([]byte{byte(n.Incarnation())}, 0); err != nil {
			return err
		}
		n.Emit("count", count{false, n.Incarnation()})
		<-n.Context().Done()
		return nil
	}
	incarnations := 0
	checker := spec.OnEvent("incarnations", "count",
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			incarnations = max(incarnations, e.Value.(count).n)
			return nil
		})
	if f := underFaults(t, 20, bubble.Files{}, start, checker).First(); f != nil || incarnations < 3 {
		t.Errorf("%d incarnations, found %+v", incarnations, f)
	}
}

// A node that reads beyond the end of a mapped file fails without ending the process, with a finding.
func TestFault(t *testing.T) {
	start := func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(dir, "short"))
		if err != nil {
			return err
		}
		pages, err := syscall.Mmap(int(f.Fd()), 0, 1<<13, syscall.PROT_READ, syscall.MAP_SHARED)
		if err != nil {
			return err
		}
		return fmt.Errorf("it read %d", pages[1<<12])
	}
	plan := lockstep.Plan{
		System:   bubble.Cluster{Name: "short", Nodes: 1, Freeze: &bubble.Freeze{Files: &bubble.Files{}}, Start: start},
		Strategy: strategy.Walk{Wait: 1, Steps: 2},
		Runs:     1,
		Seed:     1,
	}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if f := result.First(); f == nil || f.Finding.Property != "panic" ||
		!strings.Contains(f.Finding.Text, "invalid memory address") {
		t.Errorf("%+v", f)
	}
}
