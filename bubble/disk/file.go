package disk

import (
	"maps"
	"slices"
)

// Sizes, in bytes.
const (
	Sector = 512  // written atomically
	Block  = 4096 // of the file system
)

// length is a version of a file's length.
type length struct {
	moment  uint64
	time    int64
	size    int64
	resize  bool // not a write beyond the end
	shrinks bool
}

// sector is the list of a sector's versions; the first is durable.
type sector struct {
	versions []version
	fails    []failure     // of syncs
	before   *[Sector]byte // what the disk had before the last write to it; nil means zeros
	written  uint64        // the moment of that write; 0: there was none
}

// failure is a sync that failed: the versions of the sector up to then count as written.
type failure struct{ moment, clean uint64 }

// clean is the moment up to which no sync will write the sector.
func (s *sector) clean() uint64 {
	if len(s.fails) == 0 {
		return 0
	}
	return s.fails[len(s.fails)-1].clean
}

// version is the content of a sector after a change.
type version struct {
	moment uint64
	time   int64
	data   *[Sector]byte // nil means zeros
	cut    bool          // made by a truncation
	freed  bool          // the truncation freed the block, too
}

// roundUp is the end of the block that contains the last byte of a file of this size.
func roundUp(size int64) int64 { return (size + Block - 1) / Block * Block }

// last is the content that a program sees; nil means zeros.
func (s *sector) last() *[Sector]byte { return s.versions[len(s.versions)-1].data }

// Size is the length of a file.
func (i *Inode) Size() int64 { return i.lengths[len(i.lengths)-1].size }

// Write writes to a file. The blocks change one after the other.
func (d *Disk) Write(i *Inode, at int64, data []byte) {
	d.soil(i)
	i.occupy(d, at, int64(len(data)))
	var moment uint64
	for len(data) > 0 {
		if moment == 0 || at%Block == 0 {
			moment = d.next()
		}
		n := min(Sector-at%Sector, int64(len(data)))
		i.put(at/Sector, version{moment: moment, time: d.Time}, func(s *[Sector]byte) { copy(s[at%Sector:], data[:n]) })
		at, data = at+n, data[n:]
		if at > i.Size() && (at%Block == 0 || len(data) == 0) {
			i.lengths = append(i.lengths, length{moment: moment, time: d.Time, size: at})
		}
	}
}

// put adds a version of a sector.
func (i *Inode) put(number int64, v version, change func(*[Sector]byte)) {
	s := i.sectors[number]
	if s == nil {
		s = &sector{versions: []version{{}}}
		// the sector was freed with the hole that contains it
		for _, l := range i.lengths[1:] {
			if l.shrinks && number*Sector >= roundUp(l.size) {
				s.versions = append(s.versions, version{moment: l.moment, time: l.time, cut: true, freed: true})
			}
		}
		i.sectors[number] = s
	}
	v.data = new([Sector]byte)
	if last := s.last(); last != nil {
		*v.data = *last
	}
	change(v.data)
	s.versions = append(s.versions, v)
}

// Resize sets the length of a file. New bytes are zeros.
func (d *Disk) Resize(i *Inode, size int64) {
	old := i.Size()
	if size == old {
		return
	}
	d.soil(i)
	moment := d.next()
	if size < old {
		i.release(size)
		for number := range i.sectors { //lockstep:unordered each alone
			if (number+1)*Sector > size {
				v := version{moment: moment, time: d.Time, cut: true, freed: number*Sector >= roundUp(size)}
				i.put(number, v, func(s *[Sector]byte) { clear(s[max(0, size-number*Sector):]) })
			}
		}
	}
	i.lengths = append(i.lengths, length{moment: moment, time: d.Time, size: size, resize: true, shrinks: size < old})
}

// soil records that a file has versions that may be lost.
func (d *Disk) soil(i *Inode) {
	if !i.dirty {
		i.dirty = true
		d.dirty = append(d.dirty, i)
	}
}

// ReadAt reads what a program sees and returns the number of bytes.
func (i *Inode) ReadAt(p []byte, at int64) int {
	n := int(max(0, min(int64(len(p)), i.Size()-at)))
	p = p[:n]
	clear(p)
	for number := at / Sector; number*Sector < at+int64(n); number++ {
		s := i.sectors[number]
		if s == nil {
			continue
		}
		if data := s.last(); data != nil {
			from := number * Sector
			if from < at {
				copy(p, data[at-from:])
			} else {
				copy(p[from-at:], data[:])
			}
		}
	}
	return n
}

// Extents calls f for all sectors of a file that may contain other bytes than zeros, in order. The last sector may
// extend beyond the file's length, with zeros.
func (i *Inode) Extents(f func(at int64, data *[Sector]byte)) {
	for _, number := range slices.Sorted(maps.Keys(i.sectors)) {
		if data := i.sectors[number].last(); data != nil && number*Sector < i.Size() {
			f(number*Sector, data)
		}
	}
}
