package bubble

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	// Level is how much a power failure may lose; the zero value is what ext4 may lose.
	Level disk.Level
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
	// Errors is the share of syncs that fail with EIO. Full is the share of writes and new files that fail with ENOSPC.
	// Both are from 0 to 1.
	Errors, Full float64
}

func (f *Files) check() error {
	switch {
	case f == nil:
		return nil
	case !filesWork:
		return errors.New("files with faults need a program built by \"lockstep go\" on Linux with amd64")
	}
	for _, share := range []float64{f.PowerFailures, f.Errors, f.Full} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("a share of files is %v, allowed are 0..1", share)
		}
	}
	if f.SyncTime < 0 || f.WriteTime < 0 || f.WriteBack < 0 {
		return fmt.Errorf(
			"the times of files are %v, %v and %v, and must not be negative",
			f.SyncTime,
			f.WriteTime,
			f.WriteBack,
		)
	}
	if f.Level != disk.Ext4 && f.Level != disk.POSIX {
		return fmt.Errorf("there is no level %d of files, only disk.Ext4 and disk.POSIX", f.Level)
	}
	return nil
}

// The events that files report.
const (
	// PowerFailure reports a power failure; its value is a [disk.Loss].
	PowerFailure = "power-failure"
	// RefusedCall reports a system call that the model of files lacks and refused. Its value is the name of the call.
	RefusedCall = "refused-call"
)

// machine is the state of a node that outlives its incarnations: the disk and the clock.
type machine struct {
	node   lockstep.Node
	root   string // the directory
	disk   *disk.Disk
	world  *World
	model  Files
	chance *Source
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
				disk:   disk.New(model.Level),
				world:  d.world,
				model:  model,
				chance: d.lot.chance(self, diskStream+uint64(self)),
			},
		)
	}
	d.machine = all
	serveFiles(all)
	return nil
}

// choose draws a choice of the current step, recorded with it. 0 is always the mildest.
func (d *deployment) choose(n int) int { return d.chance.IntN(n) }

// crashFiles performs the effects of a crash on the files of a node. There are none if only the process was killed.
func (d *deployment) crashFiles(n *Node, powerFails bool) error {
	m := d.machine[n.self-1]
	leaveFiles(n.number())
	if !powerFails {
		return nil
	}
	m.disk.WriteBack(int64(d.world.Now() - m.model.WriteBack))
	loss := m.disk.Crash(d.choose)
	d.world.Event(lockstep.Event{Node: n.self, Type: PowerFailure, Value: loss})
	return m.rebuild()
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
