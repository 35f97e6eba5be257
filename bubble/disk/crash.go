package disk

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Loss describes what a power failure lost.
type Loss struct {
	Names   int // changes of names
	Lengths int // files with an older length
	Sectors int // sectors with an older version
	Words   []string
}

// String lists what was lost.
func (l Loss) String() string {
	if len(l.Words) == 0 {
		return "nothing"
	}
	return strings.Join(l.Words, ", ")
}

// None reports whether nothing was lost.
func (l Loss) None() bool { return l.Names+l.Lengths+l.Sectors == 0 }

// Choose draws a number from 0 to n-1. For each choice of the power failure, 0 loses least.
type Choose func(n int) int

// The ways to lose data, of a disk and of each file, the mildest first.
const (
	loseNothing = iota
	loseSome
	loseAll // everything that can be lost
	ways
)

// pick makes a choice with n outcomes in one of the ways. With loseAll it draws nevertheless, so that the draw is
// recorded when shrinking attempts a milder way.
func (choose Choose) pick(way, n int) int {
	if way == loseNothing || n == 1 {
		return 0
	}
	k := choose(n)
	if way == loseAll {
		return n - 1
	}
	return k
}

// Crash simulates a power failure. It chooses what is lost; then the disk holds what is left, all of it durable.
func (d *Disk) Crash(choose Choose) Loss {
	var l Loss
	way := choose(ways)
	until := d.moment
	if d.Level == Ext4 {
		until = d.cutJournal(way, choose, &l)
	} else {
		d.loseNames(way, choose, &l)
	}
	d.changes, d.dirty = nil, nil
	seen := map[*Inode]bool{}
	var visit func(*Inode)
	visit = func(i *Inode) {
		if seen[i] {
			return
		}
		seen[i] = true
		if i.Kind == Directory {
			i.now = maps.Clone(i.durable)
			for _, name := range i.Names() {
				visit(i.now[name])
			}
		} else if i.dirty {
			i.dirty = false
			d.crashFile(i, until, way, choose, &l)
		}
	}
	visit(d.root)
	d.committed = d.moment
	return l
}

// cutJournal chooses the moment at which the journal ends.
func (d *Disk) cutJournal(way int, choose Choose, l *Loss) uint64 {
	var points []uint64
	for _, c := range d.changes {
		points = append(points, c.moment)
	}
	for _, i := range d.dirty {
		for _, v := range i.lengths[1:] {
			points = append(points, v.moment)
		}
	}
	points = slices.DeleteFunc(points, func(p uint64) bool { return p <= d.committed })
	slices.SortFunc(points, func(a, b uint64) int { return cmp.Compare(b, a) })
	until := d.moment
	if k := choose.pick(way, len(points)+1); k > 0 {
		until = points[k-1] - 1
	}
	for k := range d.changes {
		if c := &d.changes[k]; c.moment <= until {
			c.apply()
		} else {
			l.name(c)
		}
	}
	return until
}

// loseNames chooses which changes of names are lost. If a change is lost, all later changes of the same name are lost,
// too.
func (d *Disk) loseNames(way int, choose Choose, l *Loss) {
	var lost []*change
	for k := range d.changes {
		c := &d.changes[k]
		if slices.ContainsFunc(lost, c.touches) || choose.pick(way, 2) == 1 {
			lost = append(lost, c)
			l.name(c)
		} else {
			c.apply()
		}
	}
}

func (l *Loss) name(c *change) {
	l.Names++
	e := c.sets[len(c.sets)-1]
	switch {
	case e.to == nil:
		l.Words = append(l.Words, fmt.Sprintf("the removal of %s", e.name))
	case len(c.sets) > 1:
		l.Words = append(l.Words, fmt.Sprintf("the renaming of %s to %s", c.sets[0].name, e.name))
	default:
		l.Words = append(l.Words, fmt.Sprintf("the name %s", e.name))
	}
}

// crashFile chooses which versions of a file's length and sectors are left.
func (d *Disk) crashFile(i *Inode, until uint64, way int, choose Choose, l *Loss) {
	way = choose.pick(way, ways) // loseNothing and loseAll of the disk hold for all files
	low, high := 0, len(i.lengths)-1
	if d.Level == Ext4 {
		high = lastBefore(i.lengths, until, func(v length) uint64 { return v.moment })
		for low = high; low > 0 && !i.lengths[low].resize; {
			low--
		}
	}
	k := high - choose.pick(way, high-low+1)
	size := i.lengths[k].size
	if k < len(i.lengths)-1 {
		l.Lengths++
		l.Words = append(l.Words, fmt.Sprintf("%s has %d of %d bytes", i.name, size, i.Size()))
	}
	older := 0
	for _, number := range slices.Sorted(maps.Keys(i.sectors)) {
		s := i.sectors[number]
		if number*Sector >= size {
			delete(i.sectors, number)
			continue
		}
		first, last := 0, len(s.versions)-1
		if d.Level == Ext4 {
			with := entered(i.lengths[low:k+1], number*Sector)
			if slices.ContainsFunc(s.fails, func(f failure) bool {
				return with <= f.clean && f.moment <= until &&
					(k == len(i.lengths)-1 || i.lengths[k+1].moment > f.moment)
			}) {
				with = 0 // the length reached the disk after the sync that failed
			}
			first, last = s.visible(until, with)
		}
		chosen := last - choose.pick(way, last-first+1)
		if chosen < len(s.versions)-1 {
			older++
		}
		if chosen > 0 {
			s.before, s.written = s.versions[0].data, d.moment
		}
		s.settle(chosen, size-number*Sector)
	}
	i.release(size)
	if older > 0 {
		l.Sectors += older
		l.Words = append(l.Words, fmt.Sprintf("%s has %d older sectors", i.name, older))
	}
	i.lengths = []length{{size: size}}
}

// entered is the moment in which a file grew into the block of a sector and, with that write, up to the sector. The
// sector must have been written by then, because otherwise the block would not belong to the file. It is 0 if the block
// belonged to the file before, or if the sector came later.
func entered(lengths []length, at int64) uint64 {
	block := at / Block * Block
	if block < roundUp(lengths[0].size) {
		return 0
	}
	for _, l := range lengths[1:] {
		if l.size > block {
			if l.size > at {
				return l.moment
			}
			return 0
		}
	}
	return 0
}

// visible is the range of versions that a sector may have on ext4, when the journal ends at a moment.
func (s *sector) visible(until, with uint64) (first, last int) {
	last = len(s.versions) - 1
	for k, v := range s.versions {
		if v.freed && v.moment > until {
			last = k - 1
			break
		}
		if v.cut && v.moment <= until || v.moment <= with {
			first = k
		}
	}
	return first, last
}

// settle keeps one version, with zeros beyond the given size.
func (s *sector) settle(chosen int, size int64) {
	v := s.versions[chosen]
	if v.data != nil && size < Sector {
		data := *v.data
		clear(data[size:])
		v.data = &data
	}
	s.versions, s.fails = []version{{data: v.data}}, nil
}
