// Package storage models the disk of a node, for systems that are step functions: logs and cells, written in order as
// to a write-ahead log. A node reads its writes at once. Only after [Disk.Sync] are they certain to survive a crash.
//
// A crash keeps any number of the writes since the last sync, the earliest first. So a crash comes between any two
// writes, and it can tear an Append of several entries. The crash step draws the number.
//
// Step functions call the package without waiting. Programs with goroutines in virtual time use bubble.Disk, whose
// writes take time. Programs that write files use bubble/disk, which models file systems by sector and name.
package storage

// Disk is the disk of one node. The zero value is empty.
type Disk struct {
	parts  []part
	writes int // that are not durable: each entry of an Append is one
	group  bool
	direct bool
}

// part is a log or a cell.
type part interface {
	// cut undoes all writes but the first ones, and makes these durable.
	cut(keep int)
	// sync makes all writes durable.
	sync()
}

// Sync makes durable what is written.
func (d *Disk) Sync() {
	if d.writes > 0 {
		d.writes = 0
		for _, p := range d.parts {
			p.sync()
		}
	}
}

// Direct makes what is written durable, and what will be written at once, until it is called again with
// false. That is quicker than Sync after the writes, for a caller that is sure that no crash comes between them.
func (d *Disk) Direct(on bool) {
	d.Sync()
	d.direct = on
}

// Open is the number of writes that are not durable.
func (d *Disk) Open() int { return d.writes }

// Together makes one write of several: a crash keeps all of them or none.
func (d *Disk) Together(write func()) {
	d.group = true
	write()
	d.group = false
	if !d.direct {
		d.writes++
	}
}

// Crash loses the last of the writes that are not durable, and makes the others durable. How
// many are lost is drawn from 0..n-1, so that 0 is the mildest; it is not asked where there is
// nothing to lose.
func (d *Disk) Crash(draw func(n int) int) (kept, of int) {
	of = d.writes
	kept = of
	if of > 0 {
		kept -= draw(of + 1)
	}
	d.Keep(kept)
	return kept, of
}

// Keep is a crash that keeps the first so many of the writes that are not durable.
func (d *Disk) Keep(writes int) {
	for _, p := range d.parts {
		p.cut(writes)
	}
	d.writes = 0
}

// write counts writes and returns how many were before. Those of a group count as one, when
// it ends.
func (d *Disk) write(k int) (before, counted int) {
	before = d.writes
	if d.group {
		return before, 1
	}
	d.writes += k
	return before, k
}

// change is a write that is not durable: what was before it, and after how many writes it
// came.
type change[S any] struct {
	was      S
	at, size int
}

// undo finds the first change that is not kept in full, and how much of it is kept.
func undo[S any](open []change[S], keep int) (first, part int) {
	for i, c := range open {
		if c.at+c.size > keep {
			return i, max(0, keep-c.at)
		}
	}
	return len(open), 0
}

// Cell holds one value.
type Cell[T any] struct {
	disk  *Disk
	value T
	open  []change[T]
}

// NewCell makes a cell with a value that is durable.
func NewCell[T any](d *Disk, value T) *Cell[T] {
	c := &Cell[T]{disk: d, value: value}
	d.parts = append(d.parts, c)
	return c
}

// Get is the value.
func (c *Cell[T]) Get() T { return c.value }

// Durable is the value that survives a crash for sure.
func (c *Cell[T]) Durable() T {
	if len(c.open) > 0 {
		return c.open[0].was
	}
	return c.value
}

// Set writes the value.
func (c *Cell[T]) Set(v T) {
	if !c.disk.direct {
		at, size := c.disk.write(1)
		c.open = append(c.open, change[T]{c.value, at, size})
	}
	c.value = v
}

func (c *Cell[T]) sync() { c.open = c.open[:0] }

func (c *Cell[T]) cut(keep int) {
	if i, _ := undo(c.open, keep); i < len(c.open) {
		c.value = c.open[i].was
	}
	c.sync()
}

// Log holds entries, of which the first has the index Base+1.
type Log[E any] struct {
	disk *Disk
	extent[E]
	open []change[extent[E]]
}

type extent[E any] struct {
	base uint64
	list []E
}

// NewLog makes an empty log.
func NewLog[E any](d *Disk) *Log[E] {
	l := &Log[E]{disk: d}
	d.parts = append(d.parts, l)
	return l
}

// Base is the index before the first entry.
func (l *Log[E]) Base() uint64 { return l.base }

// Last is the index of the last entry.
func (l *Log[E]) Last() uint64 { return l.base + uint64(len(l.list)) }

// At is the entry at an index of the log.
func (l *Log[E]) At(index uint64) E { return l.list[index-l.base-1] }

// Entries are those from an index on, up to and including another. They must not be changed,
// and stay what they are.
func (l *Log[E]) Entries(from, to uint64) []E { return l.list[from-l.base-1 : to-l.base : to-l.base] }

// note keeps what is before a write.
func (l *Log[E]) note(writes int) {
	if l.disk.direct {
		return
	}
	at, size := l.disk.write(writes)
	l.open = append(l.open, change[extent[E]]{l.extent, at, size})
}

// Append writes entries at the end, each of them a write.
func (l *Log[E]) Append(list ...E) {
	if len(list) > 0 {
		l.note(len(list))
		l.list = append(l.list, list...)
	}
}

// Truncate drops the entries after an index. What was there is never written over: some node
// may still read it.
func (l *Log[E]) Truncate(last uint64) {
	if last < l.Last() {
		l.note(1)
		k := max(last, l.base) - l.base
		l.list = l.list[:k:k]
	}
}

// Compact drops the entries up to an index. Beyond the end of the log it begins again after
// that.
func (l *Log[E]) Compact(upTo uint64) {
	if upTo <= l.base {
		return
	}
	l.note(1)
	if upTo >= l.Last() {
		l.list = nil
	} else {
		l.list = append([]E(nil), l.list[upTo-l.base:]...)
	}
	l.base = upTo
}

// Clear empties the log, durably, for a new run: the first entry will be after an index.
func (l *Log[E]) Clear(base uint64) { l.extent, l.open = extent[E]{base, l.list[:0]}, l.open[:0] }

func (l *Log[E]) sync() {
	clear(l.open)
	l.open = l.open[:0]
}

func (l *Log[E]) cut(keep int) {
	if i, part := undo(l.open, keep); i < len(l.open) {
		was := l.open[i].was
		if part > 0 { // of an Append
			k := len(was.list) + part
			was.list = l.after(i).list[:k:k]
		}
		l.extent = was
	}
	l.sync()
}

// after is the log after one of the writes that are not durable.
func (l *Log[E]) after(i int) extent[E] {
	if i+1 < len(l.open) {
		return l.open[i+1].was
	}
	return l.extent
}
