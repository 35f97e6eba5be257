package disk

import (
	"maps"
	"slices"
)

// Level says how much may be lost in a power failure.
type Level uint8

// The levels.
const (
	Ext4  Level = iota // what ext4 may lose
	POSIX              // what POSIX allows to be lost
)

// String is the level's name.
func (l Level) String() string {
	if l == POSIX {
		return "posix"
	}
	return "ext4"
}

// Kind says what an inode is.
type Kind uint8

// The kinds.
const (
	File Kind = iota
	Directory
	Symlink
	Socket // the name of a unix socket
)

// Disk is what a program has on one disk: the page cache and what is below it. It knows no
// clock: Time is set by whoever tells it of changes. It is not for several goroutines.
type Disk struct {
	Level Level
	Time  int64

	root      *Inode
	inodes    int
	moment    uint64 // the number of the last change
	committed uint64 // the journal, up to this change
	changes   []change
	dirty     []*Inode // files with versions that may be lost
}

// Inode is a file, a directory, a symbolic link or the name of a socket.
type Inode struct {
	// Number is unique on the disk.
	Number int
	// Kind does not change.
	Kind Kind
	// Target is where a symbolic link leads.
	Target string
	// Mode and Modified are the caller's. They are durable at once.
	Mode     uint32
	Modified int64

	name         string            // that it got last, for words
	now, durable map[string]*Inode // of a directory
	lengths      []length          // of a file; the first is durable
	sectors      map[int64]*sector
	dirty        bool
}

// change is a change of names that may be lost.
type change struct {
	moment uint64
	time   int64
	sets   []entry
	full   *Inode // whose data is on the disk when the change is
}

// entry gives a name in a directory to an inode, or to none.
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

// Root is the directory of all others.
func (d *Disk) Root() *Inode { return d.root }

// Entry is what a name in a directory means, or nil.
func (i *Inode) Entry(name string) *Inode { return i.now[name] }

// Names are those in a directory, in order.
func (i *Inode) Names() []string { return slices.Sorted(maps.Keys(i.now)) }

// Make makes a file, directory, symbolic link or socket under a name that is free.
func (d *Disk) Make(dir *Inode, name string, kind Kind) *Inode {
	i := d.inode(kind)
	d.Link(dir, name, i)
	return i
}

// Place makes something that was on the disk before, under a name that is free.
func (d *Disk) Place(dir *Inode, name string, kind Kind, data []byte) *Inode {
	i := d.inode(kind)
	i.name, dir.now[name], dir.durable[name] = name, i, i
	if kind == File {
		d.Write(i, 0, data)
		i.keep(d.moment)
	}
	return i
}

// Link gives an inode one more name, which is free.
func (d *Disk) Link(dir *Inode, name string, i *Inode) {
	i.name = name
	d.change(change{sets: []entry{{dir, name, i}}})
}

// Remove takes a name away.
func (d *Disk) Remove(dir *Inode, name string) {
	d.change(change{sets: []entry{{dir, name, nil}}})
}

// Rename moves what a name means to another, in one change, and replaces what that meant.
func (d *Disk) Rename(from *Inode, old string, to *Inode, name string) {
	i := from.now[old]
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

// next numbers a change.
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

// touches reports whether two changes are about the same name.
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
