package bubble

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble/disk"
)

// Defaults of files.
const (
	DefaultSyncTime  = 10 * time.Millisecond
	DefaultWriteBack = 35 * time.Second
)

// Files is the fault model of the files in the directories of nodes. The programs are unaware of it: they use package
// os, or x/sys. Each node has its own disk, which knows what is durable. Package [disk] says in detail what a power
// failure may lose.
//
// Files needs the overlay, on Linux with amd64, and a cluster that freezes nodes.
type Files struct {
	// DiskLevel is how much a power failure may lose; the zero value is what ext4 may lose.
	DiskLevel disk.Level
	// PowerFailures is the share of crashes in which the power fails, from 0 to 1. In the others the process is killed
	// and no data is lost. The kernel closes the connections of a killed process. The peers of a machine without power
	// receive nothing.
	PowerFailures float64
	// SyncTime is the longest time that a sync takes; 0 means DefaultSyncTime. A sync that a crash interrupts
	// guarantees nothing.
	SyncTime time.Duration
	// WriteTime is the longest time that each change of files takes before it happens; 0 means none. With it a crash
	// may come between any two changes.
	WriteTime time.Duration
	// WriteBack is the time after which changes are durable without a sync; 0 means DefaultWriteBack.
	WriteBack time.Duration
	// SyncTimes, WriteTimes and ReadTimes are distributions of the times that syncs, changes and reads take. The first
	// two replace SyncTime and WriteTime. The zero value of ReadTimes means that reads take no time.
	SyncTimes, WriteTimes, ReadTimes Delay

	// FaultyDisks is the number of nodes whose disks may fail or be damaged in a run. The nodes are drawn at its start.
	// 0 means a minority of the nodes, or 1 of a single node. All faults below strike these disks alone.
	FaultyDisks int
	// SyncErrors is the share of syncs that fail with EIO. FullDisk is the share of writes and new files that fail with
	// ENOSPC. Both are from 0 to 1.
	SyncErrors, FullDisk float64
	// ReadErrors and WriteErrors are the shares of reads and of writes that fail with EIO. The next attempt may
	// succeed.
	ReadErrors, WriteErrors float64
	// ShortWrites is the share of writes that write only a part of their data.
	ShortWrites float64
	// DiskBytes is the size of a disk; 0 means that there is no limit. A write that does not fit is short, and
	// fails with ENOSPC if nothing fits. In the settling stage there is no limit.
	DiskBytes int64
	// BitRot, LostWrites, MisdirectedWrites and UnreadableBlocks are the shares of crashes after which a block that was
	// synced before is damaged; see the kinds of disk.Damage. LostWrites gives the block its previous content.
	BitRot, LostWrites, MisdirectedWrites, UnreadableBlocks float64
	// StartKills is the share of restarts in which the process is killed at one of its first calls that change files.
	// Then the event [Killed] reports it, and the node is down. As in a crash, the power may fail at the same time.
	StartKills float64
}

// shares are the fields that must be from 0 to 1.
func (f *Files) shares() []float64 {
	return []float64{f.PowerFailures, f.SyncErrors, f.FullDisk, f.ReadErrors, f.WriteErrors, f.ShortWrites,
		f.BitRot, f.LostWrites, f.MisdirectedWrites, f.UnreadableBlocks, f.StartKills}
}

// fails reports whether disks may fail or be damaged.
func (f *Files) fails() bool {
	for _, share := range []float64{f.SyncErrors, f.FullDisk, f.ReadErrors, f.WriteErrors, f.ShortWrites} {
		if share > 0 {
			return true
		}
	}
	return f.DiskBytes > 0 || f.damages()
}

// damages reports whether data at rest may be damaged.
func (f *Files) damages() bool {
	return f.BitRot > 0 || f.LostWrites > 0 || f.MisdirectedWrites > 0 || f.UnreadableBlocks > 0
}

// reads reports whether the model must serve reads.
func (f *Files) reads() bool {
	return f.ReadErrors > 0 || f.UnreadableBlocks > 0 || f.ReadTimes != (Delay{})
}

func (f *Files) check() error {
	switch {
	case f == nil:
		return nil
	case !filesWork:
		return errors.New("files with faults need a program built by \"lockstep go\" on Linux with amd64")
	}
	for _, share := range f.shares() {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("a share of files is %v, allowed are 0..1", share)
		}
	}
	if f.SyncTime < 0 || f.WriteTime < 0 || f.WriteBack < 0 {
		return fmt.Errorf("the times of files are %v, %v and %v, and must not be negative", f.SyncTime, f.WriteTime,
			f.WriteBack)
	}
	if f.FaultyDisks < 0 || f.DiskBytes < 0 {
		return fmt.Errorf("%d disks may fail, and have %d bytes: neither may be negative", f.FaultyDisks, f.DiskBytes)
	}
	if err := cmp.Or(
		f.SyncTimes.check("SyncTimes"), f.WriteTimes.check("WriteTimes"), f.ReadTimes.check("ReadTimes")); err != nil {
		return err
	}
	if f.DiskLevel != disk.Ext4 && f.DiskLevel != disk.POSIX {
		return fmt.Errorf("there is no level %d of files, only disk.Ext4 and disk.POSIX", f.DiskLevel)
	}
	return nil
}

// The events that files report.
const (
	// PowerFailure reports a power failure; its value is a [disk.Loss].
	PowerFailure = "power-failure"
	// RefusedCall reports a system call that the model of files lacks and refused. Its value is the name of the call.
	RefusedCall = "refused-call"
	// DataDamaged reports damage to data at rest; its value is a [disk.Wound].
	DataDamaged = "damaged"
	// FailedCall reports a call on files that failed by the fault model. Its value is the call with the error.
	FailedCall = "failed-call"
)

// machine is the state of a node that outlives its incarnations: the disk and the clock.
type machine struct {
	node   lockstep.Node
	root   string // the directory
	disk   *disk.Disk
	world  *World
	model  Files
	chance *Source
	faulty bool // the disk may fail in this run
	kill   int  // calls until the process is killed; 0: it is not
}

// machines makes the disks of a run, empty.
func (d *deployment) machines() error {
	if d.model == nil {
		return nil
	}
	d.files = true
	var all []*machine
	for i := range d.Nodes {
		self := lockstep.Node(i + 1)
		root, err := dirOf(d.env, self)
		if err != nil {
			return err
		}
		model := *d.model
		if model.SyncTime == 0 {
			model.SyncTime = DefaultSyncTime
		}
		if model.WriteBack == 0 {
			model.WriteBack = DefaultWriteBack
		}
		all = append(
			all,
			&machine{
				node:   self,
				root:   root,
				disk:   newDisk(model),
				world:  d.world,
				model:  model,
				chance: d.lot.chance(self, diskStream+uint64(self)),
			},
		)
	}
	d.machine = all
	d.chooseFaulty()
	serveFiles(all, d.model.reads())
	return nil
}

func newDisk(model Files) *disk.Disk {
	d := disk.New(model.DiskLevel)
	d.Counts = model.DiskBytes > 0
	return d
}

// chooseFaulty draws the nodes whose disks may fail.
func (d *deployment) chooseFaulty() {
	if !d.model.fails() {
		return
	}
	left := slices.Clone(d.machine)
	for range min(cmp.Or(d.model.FaultyDisks, (d.Nodes-1)/2, 1), d.Nodes) {
		i := d.choose(len(left))
		left[i].faulty = true
		left = slices.Delete(left, i, i+1)
	}
}

// choose draws a choice of the current step, recorded with it. 0 is always the mildest.
func (d *deployment) choose(n int) int { return d.chance.IntN(n) }

// crashFiles performs the effects of a crash on the files of a node. There are none if only the process was killed.
func (d *deployment) crashFiles(n *Node, powerFails bool) error {
	m := d.machine[n.self-1]
	leaveFiles(n.number())
	if powerFails {
		m.disk.WriteBack(int64(d.world.Now() - m.model.WriteBack))
		loss := m.disk.Crash(d.choose)
		d.world.Event(lockstep.Event{Node: n.self, Type: PowerFailure, Value: loss})
	}
	if damaged := m.faulty && d.damage(m); damaged || powerFails {
		return m.rebuild()
	}
	return nil
}

// damage damages data at rest, as the model has it. The restarted program does not find the block in the page cache.
func (d *deployment) damage(m *machine) (damaged bool) {
	if d.world.Settling() {
		return false
	}
	f := m.model
	for kind, share := range []float64{f.BitRot, f.LostWrites, f.MisdirectedWrites, f.UnreadableBlocks} {
		if !d.chance.strikes(share) {
			continue
		}
		if wound, is := m.disk.Damage(disk.Damage(kind), d.choose); is {
			damaged = true
			d.world.failed(m.node, diskDamaged)
			d.world.Event(lockstep.Event{Node: m.node, Type: DataDamaged, Value: wound})
		}
	}
	return damaged
}

// rebuild replaces the content of the directory by the content of the disk. Frozen goroutines keep the files that they
// have open.
func (m *machine) rebuild() error {
	if err := os.RemoveAll(m.root); err != nil {
		return err
	}
	return restore(m.disk.Root(), m.root, map[*disk.Inode]string{})
}

// restore makes a file or directory; made has the paths of the inodes that exist already.
func restore(i *disk.Inode, path string, made map[*disk.Inode]string) error {
	if first := made[i]; first != "" {
		return os.Link(first, path)
	}
	made[i] = path
	switch i.Kind {
	case disk.Symlink:
		return os.Symlink(i.Target, path)
	case disk.Socket:
		return errors.Join(makeSocket(path), chmod(i, path))
	case disk.Directory:
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		for _, name := range i.Names() {
			if err := restore(i.Entry(name), filepath.Join(path, name), made); err != nil {
				return err
			}
		}
		return chmod(i, path)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	i.Extents(func(at int64, data *[disk.Sector]byte) {
		_, wrong := f.WriteAt(data[:], at)
		err = errors.Join(err, wrong)
	})
	return errors.Join(err, f.Truncate(i.Size()), f.Close(), chmod(i, path))
}

func chmod(i *disk.Inode, path string) error {
	if i.Mode == 0 {
		return nil
	}
	return os.Chmod(path, os.FileMode(i.Mode)&os.ModePerm)
}
