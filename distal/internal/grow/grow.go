// Package grow has lists and tables that only grow, and that many goroutines read while one writes.
//
// Readers take no lock: what they find never moves and never changes. Writers must exclude each other, and must look again once they may
// write. A place that a reader was told about, by any means that orders memory, is filled.
package grow

import "sync/atomic"

// Lists are kept in chunks of so many elements, so that elements need not move.
const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
)

// directory knows where chunks are. Only the directory itself moves when it grows.
type directory[C any] struct {
	list atomic.Pointer[[]atomic.Pointer[C]]
}

// find returns a chunk; nil: there is none.
func (d *directory[C]) find(i int) *C {
	list := d.list.Load()
	if list == nil || i >= len(*list) {
		return nil
	}
	return (*list)[i].Load()
}

// set enters a chunk.
func (d *directory[C]) set(i int, c *C) {
	list := d.list.Load()
	if list == nil || i >= len(*list) {
		longer := make([]atomic.Pointer[C], 2*i+1)
		if list != nil {
			for j := range *list {
				longer[j].Store((*list)[j].Load())
			}
		}
		list = &longer
		d.list.Store(list)
	}
	(*list)[i].Store(c)
}

// Array is a list in which every element exists, zero until somebody writes to it. The zero Array is ready for use.
type Array[T any] struct {
	chunks directory[[chunkSize]T]
	made   int64 // chunks
}

// Find returns an element for reading; nil: nothing near it was ever written.
func (a *Array[T]) Find(i int) *T {
	c := a.chunks.find(i >> chunkBits)
	if c == nil {
		return nil
	}
	return &c[i&(chunkSize-1)]
}

// List returns a list of the one element that Find returns.
func (a *Array[T]) List(i int) []T {
	c := a.chunks.find(i >> chunkBits)
	if c == nil {
		return nil
	}
	i &= chunkSize - 1
	return c[i : i+1 : i+1]
}

// Make returns an element for writing. How readers know that it is written is the caller's business.
func (a *Array[T]) Make(i int) *T {
	if e := a.Find(i); e != nil {
		return e
	}
	a.chunks.set(i>>chunkBits, new([chunkSize]T))
	a.made++
	return a.Find(i)
}

// Cap is how many elements there is memory for; it is for writers.
func (a *Array[T]) Cap() int64 { return a.made * chunkSize }

// Runs keeps lists of any length, each in one piece. The zero Runs is ready for use.
type Runs[T any] struct {
	chunks directory[[]T]
	count  int // chunks
	open   []T // the last chunk, as far as it is used
	made   int64
}

// Add keeps a copy of a list and returns where it is.
func (r *Runs[T]) Add(list []T) (at uint32) {
	if r.count == 0 || len(r.open)+len(list) > cap(r.open) {
		r.open = make([]T, 0, max(chunkSize, len(list)))
		r.made += int64(cap(r.open))
		whole := r.open[:cap(r.open)]
		r.chunks.set(r.count, &whole)
		r.count++
	}
	at = uint32((r.count-1)<<chunkBits | len(r.open)&(chunkSize-1)) // a chunk that is longer is full at once
	r.open = append(r.open, list...)
	return at
}

// At returns the list of the given length at a place.
func (r *Runs[T]) At(at, length uint32) []T {
	from := at & (chunkSize - 1)
	return (*r.chunks.find(int(at >> chunkBits)))[from : from+length : from+length]
}

// Cap is how many elements there is memory for; it is for writers.
func (r *Runs[T]) Cap() int64 { return r.made }

// Table maps keys other than 0 to values. The zero Table is ready for use.
type Table struct {
	slots atomic.Pointer[[]slot]
	count int
}

type slot struct {
	key   atomic.Uint64
	value uint64 // written before the key
}

// Find looks for a key.
func (t *Table) Find(key uint64) (value uint64, ok bool) {
	slots := t.slots.Load()
	if slots == nil {
		return 0, false
	}
	mask := uint64(len(*slots) - 1)
	for at := mix(key) & mask; ; at = (at + 1) & mask {
		switch s := &(*slots)[at]; s.key.Load() {
		case key:
			return s.value, true
		case 0:
			return 0, false
		}
	}
}

// Put enters a key that is not there.
func (t *Table) Put(key, value uint64) {
	slots := t.slots.Load()
	if slots == nil || t.count*2 >= len(*slots) {
		slots = t.larger(slots)
	}
	t.count++
	place(*slots, key, value)
	t.slots.Store(slots)
}

// larger makes a copy with more room. Readers go on with the old one: what they miss there they look for again as writers.
func (t *Table) larger(old *[]slot) *[]slot {
	if old == nil {
		slots := make([]slot, 64)
		return &slots
	}
	slots := make([]slot, 2*len(*old))
	for i := range *old {
		if s := &(*old)[i]; s.key.Load() != 0 {
			place(slots, s.key.Load(), s.value)
		}
	}
	return &slots
}

func place(slots []slot, key, value uint64) {
	mask := uint64(len(slots) - 1)
	at := mix(key) & mask
	for slots[at].key.Load() != 0 {
		at = (at + 1) & mask
	}
	slots[at].value = value
	slots[at].key.Store(key)
}

// Len is the number of keys; it is for writers.
func (t *Table) Len() int { return t.count }

// Bytes is the memory in use; it is for writers.
func (t *Table) Bytes() int64 {
	if slots := t.slots.Load(); slots != nil {
		return int64(len(*slots)) * 16
	}
	return 0
}

// mix spreads a pair of small numbers over the low bits.
func mix(key uint64) uint64 {
	key *= 0x9e3779b97f4a7c15
	return key ^ key>>32
}
