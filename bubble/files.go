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

// Files says what the files in the folders of nodes suffer. The programs are unaware of it:
// they use package os, or x/sys. Each node has a disk of its own, which knows what is durable;
// package [disk] says in detail what a power failure may take.
//
// Files needs the overlay, on Linux with amd64, and a cluster that freezes nodes.
type Files struct {
	// Level is how much a power failure may take; the zero value: what ext4 may lose.
	Level disk.Level
	// PowerFailures is the share of crashes in which the power fails, from 0 to 1. In the others
	// the process is killed and nothing is lost. The kernel closes the connections of a process that was
	// killed; the peers of a machine without power hear nothing.
	PowerFailures float64
	// SyncTime is the longest time that a sync takes; 0 means DefaultSyncTime. At a crash in
	// it nothing is promised yet.
	SyncTime time.Duration
	// WriteTime is the longest time that each change of files takes before it happens; 0 means
	// none. With it a crash may come between any two.
	WriteTime time.Duration
	// WriteBack is the time after which changes are durable without a sync; 0 means
	// DefaultWriteBack.
	WriteBack time.Duration
	// Errors is the share of syncs that fail (EIO), and Full that of writes and new files that
	// find the disk full (ENOSPC), from 0 to 1.
	Errors, Full float64
}

func (f *Files) check() error {
	switch {
	case f == nil:
		return nil
	case !filesWork:
		return errors.New("files that suffer need a program built by \"lockstep go\" on Linux with amd64")
	}
	for _, share := range []float64{f.PowerFailures, f.Errors, f.Full} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("a share of files is %v, allowed are 0..1", share)
		}
	}
	if f.SyncTime < 0 || f.WriteTime < 0 || f.WriteBack < 0 {
		return fmt.Errorf("the times of files are %v, %v and %v, and must not be negative", f.SyncTime, f.WriteTime, f.WriteBack)
	}
	if f.Level != disk.Ext4 && f.Level != disk.POSIX {
		return fmt.Errorf("there is no level %d of files, only disk.Ext4 and disk.POSIX", f.Level)
	}
	return nil
}

// The events that files report.
const (
	// PowerFailure tells of a power failure; its value is a [disk.Loss].
	PowerFailure = "power-failure"
	// RefusedCall tells of a system call that the model of files lacks. Its value is the
	// name of the call, which was refused.
	RefusedCall = "refused-call"
)

// machine is what a node has beyond its lives: the disk and the clock.
type machine struct {
	node   lockstep.Node
	root   string // the folder
	disk   *disk.Disk
	world  *World
	model  Files
	chance *Chance
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
		root, err := folderOf(d.place, self)
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
		all = append(all, &machine{node: self, root: root, disk: disk.New(model.Level), world: d.world, model: model, chance: d.lot.chance(self, diskStream+uint64(self))})
	}
	d.machine = all
	serveFiles(all)
	return nil
}

// choose is a choice of the step under way, recorded with it. 0 is always the mildest.
func (d *deployment) choose(n int) int { return d.chance.IntN(n) }

// crashFiles is what a crash does to the files of a node: nothing, where only the process was
// killed.
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

// rebuild makes the folder what is on the disk. What frozen goroutines have open stays
// theirs.
func (m *machine) rebuild() error {
	if err := os.RemoveAll(m.root); err != nil {
		return err
	}
	return restore(m.disk.Root(), m.root, map[*disk.Inode]string{})
}

// restore makes a file or folder; made are the paths of those that have been.
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
