package disk

import (
	"fmt"
	"slices"
)

// Damage is what can happen to data that is on a disk: data at rest.
type Damage uint8

// The kinds of damage, each to one block.
const (
	// BitRot flips one bit.
	BitRot Damage = iota
	// LostWrite is a write that the drive acknowledged and did not make: the block has its content before its last
	// write.
	LostWrite
	// Misdirected is a write that the drive made to a wrong place: another block has the content of the block, which
	// has its content before its last write.
	Misdirected
	// Unreadable makes reads of the block fail with EIO, until the whole block is written again.
	Unreadable
)

var damages = []string{"bit rot", "lost write", "misdirected write", "unreadable block"}

// String names the kind.
func (d Damage) String() string { return damages[d] }

// Wound describes damage that was done.
type Wound struct {
	Kind  Damage
	Path  string // of the file, below the root
	Block int64  // its number in the file
	Bit   int    // of BitRot: the bit in the block
	// Other and OtherBlock are the place of a Misdirected write.
	Other      string
	OtherBlock int64
}

// String describes the damage.
func (w Wound) String() string {
	text := fmt.Sprintf("%s: block %d of %s", w.Kind, w.Block, w.Path)
	switch w.Kind {
	case BitRot:
		text += fmt.Sprintf(", bit %d", w.Bit)
	case Misdirected:
		text += fmt.Sprintf(" went to block %d of %s", w.OtherBlock, w.Other)
	}
	return text
}

// spot is a block of a file.
type spot struct {
	path  string
	inode *Inode
	block int64
}

// Damage damages a block that is on the disk: all of its data was synced or written back, and not changed since. It
// chooses the file first, and then the block. It reports false if there is no such block, or where the damage would
// change nothing.
func (d *Disk) Damage(kind Damage, choose Choose) (Wound, bool) {
	files := d.atRest(kind)
	if len(files) == 0 {
		return Wound{}, false
	}
	at := pickSpot(files, choose)
	w := Wound{Kind: kind, Path: at.path, Block: at.block}
	switch kind {
	case BitRot:
		w.Bit = choose(int(min(Block, at.inode.Size()-at.block*Block)) * 8)
		at.flip(w.Bit)
	case LostWrite:
		at.revert()
	case Misdirected:
		var others [][]spot
		for _, f := range d.atRest(BitRot) {
			f = slices.DeleteFunc(f, func(s spot) bool { return s.equal(at) })
			if len(f) > 0 {
				others = append(others, f)
			}
		}
		if len(others) == 0 {
			return Wound{}, false
		}
		to := pickSpot(others, choose)
		w.Other, w.OtherBlock = to.path, to.block
		to.copy(at)
		at.revert()
	case Unreadable:
		if at.inode.bad == nil {
			at.inode.bad = map[int64]bool{}
		}
		at.inode.bad[at.block] = true
	}
	return w, true
}

func pickSpot(files [][]spot, choose Choose) spot {
	file := files[choose(len(files))]
	return file[choose(len(file))]
}

// atRest are the blocks that can be damaged, by file. A file with several names is there once.
func (d *Disk) atRest(kind Damage) (files [][]spot) {
	seen := map[*Inode]bool{}
	d.each(func(path string, i *Inode) {
		if seen[i] || len(i.lengths) > 1 || kind == Unreadable && i.Mapped {
			return
		}
		seen[i] = true
		if list := i.resting(path, kind); len(list) > 0 {
			files = append(files, list)
		}
	})
	return files
}

// resting are the blocks of a file that can be damaged.
func (i *Inode) resting(path string, kind Damage) (list []spot) {
	numbers := map[int64]bool{}
	for number, s := range i.sectors { //lockstep:unordered a set
		if s.last() != nil && number*Sector < i.Size() {
			numbers[number*Sector/Block] = true
		}
	}
	for b := range numbers { //lockstep:unordered sorted below
		at := spot{path, i, b}
		reverts := kind == LostWrite || kind == Misdirected
		if at.clean() && !i.bad[b] && (!reverts || at.lastWrite() > 0 && at.reverts()) {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, func(a, b spot) int { return int(a.block - b.block) })
	return list
}

// sectors calls f for the sectors of the block that were ever written and are within the file.
func (s spot) sectors(f func(number int64, s *sector)) {
	for number := s.block * Block / Sector; number < (s.block+1)*Block/Sector; number++ {
		if is := s.inode.sectors[number]; is != nil && number*Sector < s.inode.Size() {
			f(number, is)
		}
	}
}

// clean reports whether all data of the block is on the disk.
func (s spot) clean() bool {
	clean := true
	s.sectors(func(_ int64, is *sector) { clean = clean && len(is.versions) == 1 && len(is.fails) == 0 })
	return clean
}

// lastWrite is the moment of the last write of the block to the disk, or 0.
func (s spot) lastWrite() (last uint64) {
	s.sectors(func(_ int64, is *sector) { last = max(last, is.written) })
	return last
}

// reverts reports whether the block had another content before its last write.
func (s spot) reverts() bool {
	last, changes := s.lastWrite(), false
	s.sectors(func(_ int64, is *sector) {
		changes = changes || is.written == last && content(is.before) != content(is.last())
	})
	return changes
}

// content are the bytes of a sector; nil means zeros.
func content(data *[Sector]byte) [Sector]byte {
	if data == nil {
		return [Sector]byte{}
	}
	return *data
}

// revert gives the block its content before its last write. Bytes beyond the end of the file stay zeros.
func (s spot) revert() {
	last := s.lastWrite()
	s.sectors(func(number int64, is *sector) {
		if is.written == last {
			s.set(number, content(is.before))
		}
	})
}

// flip inverts a bit of the block.
func (s spot) flip(bit int) {
	number := s.block*Block/Sector + int64(bit/8/Sector)
	data := [Sector]byte{}
	if is := s.inode.sectors[number]; is != nil {
		data = content(is.last())
	}
	data[bit/8%Sector] ^= 1 << (bit % 8)
	s.set(number, data)
}

// copy gives the block the content of another one.
func (s spot) copy(from spot) {
	for k := range int64(Block / Sector) {
		data := [Sector]byte{}
		if is := from.inode.sectors[from.block*Block/Sector+k]; is != nil {
			data = content(is.last())
		}
		s.set(s.block*Block/Sector+k, data)
	}
}

// equal reports whether two blocks have the same content, up to the end of the file of s.
func (s spot) equal(other spot) bool {
	a, b := s.bytes(), other.bytes()
	n := min(Block, s.inode.Size()-s.block*Block)
	return a == b || slices.Equal(a[:n], b[:n])
}

// bytes are the content of the block.
func (s spot) bytes() (data [Block]byte) {
	s.inode.ReadAt(data[:], s.block*Block)
	return data
}

// set changes a sector on the disk, with zeros beyond the end of the file.
func (s spot) set(number int64, data [Sector]byte) {
	size := s.inode.Size() - number*Sector
	if size <= 0 {
		return
	}
	if size < Sector {
		clear(data[size:])
	}
	s.inode.sectors[number] = &sector{versions: []version{{data: &data}}}
}

// Readable is the number of bytes, of n from an offset on, before the first block that cannot be read.
func (i *Inode) Readable(at, n int64) int64 {
	for b := at / Block; len(i.bad) > 0 && b*Block < at+n; b++ {
		if i.bad[b] {
			return max(0, b*Block-at)
		}
	}
	return n
}

// Tears reports whether a write of n bytes at an offset changes only a part of a block that cannot be read. The kernel
// must read such a block first.
func (i *Inode) Tears(at, n int64) bool {
	for b := range i.bad { //lockstep:unordered whether there is one
		if begin, end := b*Block, (b+1)*Block; begin < at+n && end > at && (at > begin || at+n < min(end, i.Size())) {
			return true
		}
	}
	return false
}
