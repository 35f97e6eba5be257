//go:build lockstep_overlay && linux && amd64

package bubble_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
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
	"github.com/lockstep-go/lockstep/trace"
)

// The levels of protection of a vault, each with those before it.
const (
	unprotected = iota
	checksummed // each block has a checksum of its content
	placed      // and its number
	versioned   // and a second file has the version of all blocks
)

// vaultBlocks is the number of blocks of a vault, lastVersion the last version that it writes of them.
const (
	vaultBlocks = 3
	lastVersion = 3
)

// seal is a block of a vault.
func seal(number, version uint32) []byte {
	block := make([]byte, disk.Block)
	for at := 0; at < len(block)-4; at += 8 {
		binary.LittleEndian.PutUint32(block[at:], number)
		binary.LittleEndian.PutUint32(block[at+4:], version)
	}
	binary.LittleEndian.PutUint32(block[disk.Block-4:], crc32.ChecksumIEEE(block[:disk.Block-4]))
	return block
}

// vault writes blocks with versions, and syncs each. When it starts again it reads them, checks what its protection
// can check, and reports those that are not what it wrote.
func vault(protection int) func(*bubble.Node) error {
	return func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, "blocks"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		root, err := os.OpenFile(filepath.Join(dir, "root"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		info, err := root.Stat()
		if err != nil {
			return err
		}
		if info.Size() == 0 {
			for version := range uint32(lastVersion) {
				for i := range uint32(vaultBlocks) {
					_, err := f.WriteAt(seal(i, version+1), int64(i)*disk.Block)
					if err := errors.Join(err, f.Sync()); err != nil {
						return err
					}
				}
			}
			_, err := root.WriteAt(seal(0, lastVersion), 0)
			err = errors.Join(err, root.Sync())
			if err != nil {
				return err
			}
		} else if err := open(n, f, root, protection); err != nil {
			return err
		}
		<-n.Context().Done()
		return nil
	}
}

func open(n *bubble.Node, f, root *os.File, protection int) error {
	block := make([]byte, disk.Block)
	if _, err := root.ReadAt(block, 0); err != nil {
		return err
	}
	latest := binary.LittleEndian.Uint32(block[4:])
	for i := range uint32(vaultBlocks) {
		if _, err := f.ReadAt(block, int64(i)*disk.Block); err != nil {
			return err
		}
		sum := crc32.ChecksumIEEE(block[:disk.Block-4]) == binary.LittleEndian.Uint32(block[disk.Block-4:])
		number, version := binary.LittleEndian.Uint32(block), binary.LittleEndian.Uint32(block[4:])
		switch {
		case protection >= checksummed && !sum:
			return fmt.Errorf("the checksum of block %d is wrong", i)
		case protection >= placed && number != i:
			return fmt.Errorf("block %d has the number %d", i, number)
		case protection >= versioned && version != latest:
			return fmt.Errorf("block %d has version %d of %d", i, version, latest)
		case !slices.Equal(block, seal(i, lastVersion)):
			n.Emit("wrong", fmt.Sprintf("block %d has version %d of block %d, intact: %v", i, version, number, sum))
		}
	}
	return nil
}

// truthful is the property that no program returns wrong data.
var truthful = spec.OnEvent("truthful", "wrong",
	func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		return &lockstep.Finding{Text: e.Value.(string)}
	})

// damages are the fault models with one kind of damage each.
func damages(share float64) map[disk.Damage]bubble.Files {
	return map[disk.Damage]bubble.Files{
		disk.BitRot:      {BitRot: share},
		disk.LostWrite:   {LostWrites: share},
		disk.Misdirected: {MisdirectedWrites: share},
		disk.Unreadable:  {UnreadableBlocks: share},
	}
}

// Each kind of damage makes a store return wrong data that does not check enough, and never one that checks enough:
// that one stops with an error, as a fail-stop node. Without damage all of them are correct.
func TestDamage(t *testing.T) {
	enough := map[disk.Damage]int{
		disk.BitRot: checksummed, disk.LostWrite: versioned, disk.Misdirected: versioned, disk.Unreadable: unprotected,
	}
	for kind := range enough {
		for protection := range versioned + 1 {
			for share, control := range map[float64]bool{1: false, 0: true} {
				plan := faultPlan(60, damages(share)[kind], vault(protection), truthful)
				// The crash comes after the vaults are full, mostly.
				plan.Strategy = strategy.Walk{Wait: 60, Crash: 1, Restart: 20, Crashes: 1, Steps: 200}
				stopped := 0
				plan.Spec = spec.All(truthful, tallying(&stopped, bubble.Exited))
				found := explore(t, plan).First() != nil
				if want := protection < enough[kind] && !control; found != want {
					t.Errorf("%s, protection %d, control %v: found %v", kind, protection, control, found)
				}
				if some := stopped > 0; some != (!control && protection >= enough[kind]) && !found {
					t.Errorf("%s, protection %d, control %v: %d programs stopped", kind, protection, control, stopped)
				}
			}
		}
	}
}

// tallying counts events.
func tallying(n *int, event string) lockstep.Spec {
	return spec.OnEvent(event, event, func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
		*n++
		return nil
	})
}

// Only the disks of a minority are damaged in a run, or as many as the model says, and each disk in some run.
func TestFaultyDisks(t *testing.T) {
	for _, most := range []int{0, 1, 2, 5} {
		every, largest := map[lockstep.Node]bool{}, 0
		damaged := spec.OnEvent("damaged", bubble.DataDamaged,
			func(now *map[lockstep.Node]bool, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
				if *now == nil {
					*now = map[lockstep.Node]bool{}
				}
				(*now)[e.Node], every[e.Node] = true, true
				largest = max(largest, len(*now))
				return nil
			})
		plan := faultPlan(30, bubble.Files{BitRot: 1, FaultyDisks: most}, vault(unprotected), damaged)
		cluster := plan.System.(bubble.Cluster)
		cluster.Nodes = 5
		plan.System, plan.Strategy = cluster, strategy.Walk{Wait: 10, Crash: 2, Restart: 3, Down: 5, Steps: 300}
		explore(t, plan)
		want := most
		if most == 0 {
			want = 2
		}
		if largest != want || len(every) != 5 {
			t.Errorf("at most %d: %d disks were damaged in a run, %d in all", most, largest, len(every))
		}
	}
}

// A finding that needs one kind of damage is shrunk to that kind alone, and is the same when its recorded run is
// replayed.
func TestWeakestDamage(t *testing.T) {
	files := bubble.Files{BitRot: 0.7, LostWrites: 0.7, MisdirectedWrites: 0.7, UnreadableBlocks: 0.3, PowerFailures: 0.5}
	plan := faultPlan(300, files, vault(checksummed), truthful)
	plan.Strategy = strategy.Walk{Wait: 10, Crash: 1, Restart: 3, Steps: 200}
	small := shrunk(t, plan)
	damage := texts(small.Trace, bubble.DataDamaged)
	t.Log(damage)
	if len(damage) != 1 || !strings.HasPrefix(damage[0], "lost write") && !strings.HasPrefix(damage[0], "misdirected") {
		t.Errorf("shrunk to %s", damage)
	}
}

// A program that syncs again after a sync failed believes that its data is durable; one that stops then does not lose
// data. Linux reports the error once, and counts the data as written.
func TestFailedSync(t *testing.T) {
	keep := func(retry bool) func(*bubble.Node) error {
		return func(n *bubble.Node) error {
			dir, err := n.Dir()
			if err != nil {
				return err
			}
			f, err := os.OpenFile(filepath.Join(dir, "numbers"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(f.Name())
			if err != nil {
				return err
			}
			size := bytes.Count(data, []byte{1}) // lost data is zeros
			if err := f.Sync(); err != nil {     // what an earlier incarnation wrote may not be durable
				return err
			}
			n.Emit("count", count{true, size})
			for i := size; i < size+20; i++ {
				if _, err := f.Write([]byte{1}); err != nil {
					return err
				}
				err := f.Sync()
				for retry && err != nil {
					err = f.Sync()
				}
				if err != nil {
					return err
				}
				n.Emit("count", count{false, i + 1})
			}
			<-n.Context().Done()
			return nil
		}
	}
	for _, c := range []struct {
		errors       float64
		retry, found bool
	}{{0.2, true, true}, {0, true, false}} {
		plan := faultPlan(150, bubble.Files{SyncErrors: c.errors, PowerFailures: 1}, keep(c.retry), kept())
		if found := explore(t, plan).First() != nil; found != c.found {
			t.Errorf("%+v: found %v", c, found)
		}
	}
	// A program that stops loses data only when a power failure follows its next start, which finds the data in the
	// page cache and syncs it in vain.
	stopped := 0
	plan := faultPlan(150, bubble.Files{SyncErrors: 0.2}, keep(false), spec.All(kept(), tallying(&stopped, bubble.Exited)))
	if f := explore(t, plan).First(); f != nil || stopped == 0 {
		t.Errorf("%d programs stopped, %+v", stopped, f)
	}
}

// stopping stops at the first call that fails, or that it finds damage after: with an error, by an exit, or by a bug in
// its handling of the error.
func stopping(how string) func(*bubble.Node) error {
	return func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		name := filepath.Join(dir, "blocks")
		data, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) || len(data) != bytes.Count(data, []byte{1}) {
			return errors.New("a block is not what was written")
		}
		data = bytes.Repeat([]byte{1}, disk.Block)
		for i := range 200 {
			f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
			if err == nil {
				_, err = f.WriteAt(data, int64(i%4)*disk.Block)
				err = errors.Join(err, f.Sync(), f.Close())
			}
			if err == nil {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			switch how {
			case "exit":
				os.Exit(3)
			case "panic":
				data = nil
				data[0] = 1
			case "panic again":
				defer func() { panic(fmt.Sprint("the task failed: ", recover() != nil)) }()
				data = nil
				data[0] = 1
			case "panic of its own":
				panic(err)
			}
			return err
		}
		<-n.Context().Done()
		return nil
	}
}

// The target states how a program may stop after which fault of its disk; all else is a finding of the property that it
// has on a disk that works. Without a statement the program may stop in any way.
func TestAllowDiskExit(t *testing.T) {
	errorsOnly := bubble.Files{SyncErrors: 0.05}
	clear := func(e bubble.DiskExit) bool { return e.Node > 0 && e.Text != "" && !e.Runtime }
	damaged := func(e bubble.DiskExit) bool { return e.Damaged }
	for _, c := range []struct {
		how   string
		files bubble.Files
		allow func(bubble.DiskExit) bool
		want  string // the property; empty: nothing is found
	}{
		{"error", errorsOnly, nil, ""},
		{"error", errorsOnly, clear, ""},
		{"error", errorsOnly, damaged, "start"},
		{"exit", errorsOnly, clear, ""},
		{"exit", errorsOnly, damaged, "exit"},
		{"panic", errorsOnly, nil, ""},
		{"panic", errorsOnly, clear, "panic"},
		{"panic again", errorsOnly, clear, "panic"},
		{"panic of its own", errorsOnly, clear, ""},
		{"error", bubble.Files{BitRot: 1}, damaged, ""},
		{"error", bubble.Files{}, damaged, ""},
	} {
		stopped := 0
		plan := faultPlan(20, c.files, stopping(c.how), tallying(&stopped, bubble.Exited))
		cluster := plan.System.(bubble.Cluster)
		cluster.AllowDiskExit = c.allow
		plan.System = cluster
		property := ""
		if f := explore(t, plan).First(); f != nil {
			property = f.Finding.Property
		}
		faulty := c.files != bubble.Files{}
		if property != c.want || property == "" && (stopped > 0) != faulty {
			t.Errorf("%s, %+v: found %q, want %q; %d programs stopped", c.how, c.files, property, c.want, stopped)
		}
	}
}

// recoverer renames its file aside and back when it starts: a plain sequence of changes without syncs, during which
// time does not pass. The careful one finishes an interrupted sequence.
func recoverer(careful bool) func(*bubble.Node) error {
	return func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		at, aside := filepath.Join(dir, "data"), filepath.Join(dir, "aside")
		if n.Incarnation() == 1 {
			return os.WriteFile(at, []byte("data"), 0o600)
		}
		if _, err := os.Stat(aside); err == nil && careful {
			if err := os.Rename(aside, at); err != nil {
				return err
			}
		}
		if _, err := os.Stat(at); err != nil {
			n.Emit("wrong", "the data is gone")
			return nil
		}
		if err := os.Rename(at, aside); err != nil {
			return err
		}
		return os.Rename(aside, at)
	}
}

// A process that is killed while it starts shows a recovery that cannot be interrupted. A crash at a step comes too
// late.
func TestStartKills(t *testing.T) {
	for _, c := range []struct {
		kills          float64
		careful, found bool
	}{{0.5, false, true}, {0.5, true, false}, {0, false, false}} {
		killed := 0
		checks := spec.All(truthful, tallying(&killed, bubble.Killed))
		result := underFaults(t, 30, bubble.Files{StartKills: c.kills}, recoverer(c.careful), checks)
		if found := result.First() != nil; found != c.found || (killed > 0) != (c.kills > 0) {
			t.Errorf("%+v: found %v, %d killed", c, found, killed)
		}
	}
}

// write writes by one system call, which package os would repeat.
func write(f *os.File, data []byte) (int, error) { return syscall.Write(int(f.Fd()), data) }

// Reads and writes fail and are short as often as the model says.
func TestCallErrors(t *testing.T) {
	const calls = 1000
	var short, failed, unread int
	alone(t, bubble.Files{WriteErrors: 0.1, ShortWrites: 0.3, ReadErrors: 0.2}, func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(dir, "f"))
		if err != nil {
			return err
		}
		short, failed, unread = 0, 0, 0
		size, buffer := 0, make([]byte, 10)
		for range calls {
			switch wrote, err := write(f, buffer); {
			case errors.Is(err, syscall.EIO):
				failed++
			case err != nil || wrote == 0:
				return fmt.Errorf("%d bytes: %w", wrote, err)
			default:
				size += wrote
				if wrote < 10 {
					short++
				}
			}
			if _, err := f.ReadAt(buffer[:1], 0); errors.Is(err, syscall.EIO) {
				unread++
			} else if err != nil && size > 0 {
				return err
			}
		}
		if info, err := f.Stat(); err != nil || info.Size() != int64(size) {
			return fmt.Errorf("%d bytes were written, the file has %d (%w)", size, info.Size(), err)
		}
		return nil
	})
	for _, c := range []struct {
		name      string
		n         int
		low, high int
	}{{"failed", failed, 70, 130}, {"short", short, 220, 320}, {"unread", unread, 150, 250}} {
		if c.n < c.low || c.n > c.high {
			t.Errorf("%s: %d of %d calls, want %d..%d", c.name, c.n, calls, c.low, c.high)
		}
	}
}

// A disk takes as many bytes as it has blocks: the last write is short, the next ones fail, and removing a file that is
// not open frees its blocks.
func TestCapacity(t *testing.T) {
	const blocks = 10
	alone(t, bubble.Files{DiskBytes: blocks * disk.Block}, func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		fill := func(name string, want int) error {
			f, err := os.Create(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			for total := 0; ; {
				wrote, err := write(f, make([]byte, 3000))
				switch total += max(wrote, 0); {
				case errors.Is(err, syscall.ENOSPC) && total == want*disk.Block:
					var fs syscall.Statfs_t
					if err := syscall.Statfs(dir, &fs); err != nil || fs.Bavail != 0 {
						return fmt.Errorf("%d blocks are free (%w)", fs.Bavail, err)
					}
					return nil
				case err != nil || total > want*disk.Block:
					return fmt.Errorf("%d bytes: %w", total, err)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "first"), make([]byte, 5000), 0o600); err != nil {
			return err
		}
		return errors.Join(fill("a", blocks-2), os.Remove(filepath.Join(dir, "first")), fill("b", 2),
			os.Truncate(filepath.Join(dir, "a"), 1), fill("c", blocks-3))
	})
}

// Syncs and reads of a disk take the times of their distributions.
func TestDiskTimes(t *testing.T) {
	var syncs, reads []time.Duration
	files := bubble.Files{
		SyncTimes: bubble.Delay{Min: 2 * time.Millisecond, Max: 4 * time.Millisecond, Tail: 0.1, Longest: time.Second},
		ReadTimes: bubble.Delay{Min: time.Millisecond, Max: time.Millisecond},
	}
	alone(t, files, func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(dir, "f"))
		if err != nil {
			return err
		}
		syncs, reads = nil, nil
		for range 300 {
			at := n.World().Now()
			if err := f.Sync(); err != nil {
				return err
			}
			syncs = append(syncs, n.World().Now()-at)
			at = n.World().Now()
			if _, err := f.ReadAt(make([]byte, 1), 0); err == nil {
				return errors.New("the file is not empty")
			}
			reads = append(reads, n.World().Now()-at)
		}
		return nil
	})
	slices.Sort(syncs)
	long := len(syncs) - slices.IndexFunc(syncs, func(d time.Duration) bool { return d > 4*time.Millisecond })
	if syncs[0] < 2*time.Millisecond || syncs[299] > time.Second || long < 15 || long > 50 {
		t.Errorf("%d of 300 syncs took long, from %v to %v", long, syncs[0], syncs[299])
	}
	if slices.Min(reads) != time.Millisecond || slices.Max(reads) != time.Millisecond {
		t.Errorf("reads took %v to %v", slices.Min(reads), slices.Max(reads))
	}
}

// The options of targets reach the models, and those that a cluster cannot have are refused.
func TestFaultOptions(t *testing.T) {
	files := bubble.Cluster{Name: "c", Nodes: 1, Start: vault(0), Freeze: &bubble.Freeze{Files: &bubble.Files{}}}
	bare := bubble.Cluster{Name: "c", Nodes: 1, Start: vault(0)}
	for _, c := range []struct {
		cluster bubble.Cluster
		options bubble.FaultOptions
		wrong   string
	}{
		{files, bubble.FaultOptions{BitRot: 1, MaxPause: time.Second}, ""},
		{files, bubble.FaultOptions{BitRot: 2}, "bit-rot is 2, allowed are 0..1"},
		{bare, bubble.FaultOptions{MaxPause: time.Second, Latency: bubble.Delay{Max: 1}}, ""},
		{bare, bubble.FaultOptions{BitRot: 1}, "an option about disks needs nodes with files"},
		{bare, bubble.FaultOptions{Resets: 1}, "need a cluster with Sockets"},
	} {
		c.cluster.FaultOptions = c.options
		info, err := c.cluster.Describe()
		if c.wrong == "" && (err != nil || info.Supports.Has(trace.Pause) != (c.options.MaxPause > 0)) ||
			c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%+v: %v, want %q", c.options, err, c.wrong)
		}
	}
}

// A node restarts with the configurations that the cluster has, keeps one until the next restart that changes it, and
// begins with the usual one.
func TestReconfigure(t *testing.T) {
	seen := map[[2]int]int{}
	for _, share := range []float64{0, 0.5} {
		clear(seen)
		cluster := bubble.Cluster{
			Name: "settings", Nodes: 3, OtherConfigurations: 2, FaultOptions: bubble.FaultOptions{Reconfigure: share},
			Start: func(n *bubble.Node) error {
				seen[[2]int{min(2, n.Incarnation()), n.Configuration()}]++
				return nil
			},
		}
		explore(t, lockstep.Plan{System: cluster, Strategy: storm, Runs: 30, Seed: 1})
		later := seen[[2]int{2, 1}] > 20 && seen[[2]int{2, 2}] > 20
		if seen[[2]int{1, 0}] < 90 || seen[[2]int{1, 1}]+seen[[2]int{1, 2}] > 0 || later != (share > 0) {
			t.Errorf("share %v: starts by incarnation and setting: %v", share, seen)
		}
	}
	cluster := bubble.Cluster{Name: "c", Nodes: 1, Start: vault(0), Faults: bubble.Faults{Reconfigure: 1}}
	if _, err := cluster.Describe(); err == nil || !strings.Contains(err.Error(), "no other configuration") {
		t.Error(err)
	}
}

// A cluster limits the configurations of a restart, and names them in events.
func TestNextConfigurations(t *testing.T) {
	var names []any
	cluster := bubble.Cluster{
		Name: "settings", Nodes: 3, OtherConfigurations: 2, ConfigurationNames: []string{"a", "b", "c"},
		FaultOptions: bubble.FaultOptions{Reconfigure: 1},
		NextConfigurations: func(_ *bubble.World, n lockstep.Node, now int) []int {
			if n == 1 || now == 2 {
				return nil
			}
			return []int{2}
		},
		Start: func(n *bubble.Node) error {
			if want := 2 * min(1, n.Incarnation()-1) * min(1, int(n.Self()-1)); n.Configuration() != want {
				t.Errorf("node %d starts with %d, want %d", n.Self(), n.Configuration(), want)
			}
			return nil
		},
	}
	note := spec.OnEvent("names", bubble.Reconfigured,
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			names = append(names, e.Value)
			return nil
		})
	explore(t, lockstep.Plan{System: cluster, Strategy: storm, Spec: note, Runs: 5, Seed: 1})
	if len(names) < 5 || slices.ContainsFunc(names, func(name any) bool { return name != "c" }) {
		t.Errorf("names of configurations: %v", names)
	}
	cluster.ConfigurationNames = cluster.ConfigurationNames[:2]
	if _, err := cluster.Describe(); err == nil || !strings.Contains(err.Error(), "2 names of 3 configurations") {
		t.Error(err)
	}
}

// A node whose disk keeps it from starting is restarted once in the settling stage, and stays down. The others settle.
func TestSettleWithoutDisk(t *testing.T) {
	stopped, settled := 0, 0
	start := vault(checksummed)
	cluster := bubble.Cluster{
		Name: "files", Nodes: 3, Freeze: &bubble.Freeze{Files: &bubble.Files{BitRot: 1}},
		Start: func(n *bubble.Node) error {
			n.World().Event(lockstep.Event{Node: n.Self(), Type: "starts"})
			return start(n)
		},
	}
	count := spec.OnEvent("settled", "starts", func(_ *struct{}, run *lockstep.Run, _ *lockstep.Event) *lockstep.Finding {
		if run.Settling() {
			settled++
		}
		return nil
	})
	plan := lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 10, Crash: 2, Restart: 1, Steps: 150}, Runs: 20,
		Settle: 100, Seed: 1, Spec: spec.All(truthful, count, tallying(&stopped, bubble.Exited)), Scratch: memory()}
	r := explore(t, plan)
	if r.Verdicts[trace.Pass] != 20 || stopped < 10 || settled < 5 || settled > 60 {
		t.Errorf("%v %v, %d stopped, %d restarts while settling", r.Verdicts, r.Reasons, stopped, settled)
	}
}
