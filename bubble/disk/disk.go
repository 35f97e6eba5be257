package disk

import (
	"maps"
	"slices"
)

// Level says how much a power failure may lose.
type Level uint8

// The levels.
const (
	Ext4  Level = iota // what ext4 may lose
	POSIX              // what POSIX allows a disk to lose
)

// Words are the names of the levels.
func (Level) Words() []string { return []string{"ext4", "posix"} }

// String is the level's name.
func (l Level) String() string {
	if l == POSIX {
		return "posix"
	}
	return "ext4"
}

// Kind is the type of an inode.
type Kind uint8

// The kinds.
const (
	File Kind = iota
	Directory
	Symlink
	Socket // the name of a unix socket
)

// Disk models a disk as a program uses it: the page cache and the storage below it. It has no clock: the caller that
// reports changes sets Time. It is not safe for concurrent use.
type Disk struct {
	Level Level
	Time  int64
	// Counts makes the disk count the blocks that files occupy, for Used and Needs.
	Counts bool

	root      *Inode
	inodes    int
	moment    uint64 // the number of the last change
	committed uint64 // the journal is durable up to this change
	changes   []change
	dirty     []*Inode // files with versions that may be lost
}

// Inode is a file, a directory, a symbolic link or the name of a socket.
type Inode struct {
	// Number is unique on the disk.
	Number int
	// Kind does not change.
	Kind Kind
	// Target is the target of a symbolic link.
	Target string
	// Mode and Modified belong to the caller. They are durable at once.
	Mode     uint32
	Modified int64
	// Mapped is set by the caller for a file that a program has mapped into memory. No block of it becomes unreadable,
	// because a program dies of reading it there (SIGBUS), which has no model.
	Mapped bool

	name         string            // its latest name, for descriptions
	now, durable map[string]*Inode // of a directory
	lengths      []length          // of a file; the first is durable
	sectors      map[int64]*sector
	dirty        bool
	blocks       map[int64]bool // occupied, if the disk counts them
	bad          map[int64]bool // blocks that cannot be read
}

// change is a change of names that may be lost.
type change struct {
	moment uint64
	time   int64
	sets   []entry
	full   *Inode // a file whose data must reach the disk with the change
}

// entry sets a name in a directory to an inode, or removes it.
type entry struct {
	dir  *Inode
	name string
	to   *Inode
}

// New is an empty disk.
func New(level Level) *Disk {
	d := &Disk{Level: level}
	d.root = d.inode(Directory)
	return d
}

func (d *Disk) inode(kind Kind) *Inode {
	d.inodes++
	i := &Inode{Number: d.inodes, Kind: kind}
	switch kind {
	case Directory:
		i.now, i.durable = map[string]*Inode{}, map[string]*Inode{}
	case File:
		i.lengths, i.sectors = []length{{}}, map[int64]*sector{}
	}
	return i
}

// Root is the root directory.
func (d *Disk) Root() *Inode { return d.root }

// Entry is the inode of a name in a directory, or nil.
func (i *Inode) Entry(name string) *Inode { return i.now[name] }

// Names are the names in a directory, sorted.
func (i *Inode) Names() []string { return slices.Sorted(maps.Keys(i.now)) }

// Make makes a file, directory, symbolic link or socket. The name must be free.
func (d *Disk) Make(dir *Inode, name string, kind Kind) *Inode {
	i := d.inode(kind)
	d.Link(dir, name, i)
	return i
}

// Place adds a file or directory that was on the disk before. The name must be free.
func (d *Disk) Place(dir *Inode, name string, kind Kind, data []byte) *Inode {
	i := d.inode(kind)
	i.name, dir.now[name], dir.durable[name] = name, i, i
	if kind == File {
		d.Write(i, 0, data)
		i.keep(d.moment)
	}
	return i
}

// Link gives an inode an additional name, which must be free.
func (d *Disk) Link(dir *Inode, name string, i *Inode) {
	i.name = name
	d.change(change{sets: []entry{{dir, name, i}}})
}

// Remove removes a name.
func (d *Disk) Remove(dir *Inode, name string) {
	d.change(change{sets: []entry{{dir, name, nil}}})
}

// Rename moves an inode to another name, in one change, and replaces the inode that had this name.
func (d *Disk) Rename(from *Inode, old string, to *Inode, name string) {
	i := from.now[old]
	// both are names of one file: nothing happens
	if to.now[name] == i {
		return // both are names of one file: nothing happens
	}
	c := change{sets: []entry{{from, old, nil}, {to, name, i}}}
	if d.Level == Ext4 && to.now[name] != nil && i.Kind == File {
		c.full = i
	}
	i.name = name
	d.change(c)
}

// next returns the number of a new change.
func (d *Disk) next() uint64 {
	d.moment++
	return d.moment
}

func (d *Disk) change(c change) {
	c.moment, c.time = d.next(), d.Time
	for _, e := range c.sets {
		set(e.dir.now, e)
	}
	d.changes = append(d.changes, c)
}

func set(names map[string]*Inode, e entry) {
	if e.to == nil {
		delete(names, e.name)
	} else {
		names[e.name] = e.to
	}
}

// apply makes a change durable.
func (c *change) apply() {
	for _, e := range c.sets {
		set(e.dir.durable, e)
	}
	if c.full != nil {
		c.full.keep(c.moment)
	}
}

// touches reports whether two changes concern the same name.
func (c *change) touches(other *change) bool {
	for _, e := range c.sets {
		for _, f := range other.sets {
			if e.dir == f.dir && e.name == f.name {
				return true
			}
		}
	}
	return false
}
