// Package grow has lists and tables that only grow, and that many goroutines read while one writes.
//
// Readers take no lock. Writers must exclude each other, and must look again once they may write. A place that a
// reader was notified about, by any means that orders memory, is filled. What is written is never changed: when a list
// or table becomes too small its content is copied, and readers may continue with the old copy.
package grow

import (
	"sync/atomic"

	"github.com/lockstep-go/lockstep/internal/mix"
)

// Array is a list in which every element exists, zero until it is written. The zero Array is ready for use.
type Array[T any] struct {
	list atomic.Pointer[[]T]
}

// Find returns an element for reading; nil: nothing so far was ever written.
func (a *Array[T]) Find(i int) *T {
	if list := a.list.Load(); list != nil && i < len(*list) {
		return &(*list)[i]
	}
	return nil
}

// List returns a list of the one element that Find returns.
func (a *Array[T]) List(i int) []T {
	if list := a.list.Load(); list != nil && i < len(*list) {
		return (*list)[i : i+1 : i+1]
	}
	return nil
}

// Make returns an element for writing, until the next call. How readers know that it is written is the caller's
// business.
func (a *Array[T]) Make(i int) *T {
	if e := a.Find(i); e != nil {
		return e
	}
	longer := make([]T, max(64, 2*i))
	if old := a.list.Load(); old != nil {
		copy(longer, *old)
	}
	a.list.Store(&longer)
	return &longer[i]
}

// Cap is how many elements there is memory for.
func (a *Array[T]) Cap() int64 {
	if list := a.list.Load(); list != nil {
		return int64(len(*list))
	}
	return 0
}

// Runs keeps lists of any length, each in one piece. The zero Runs is ready for use.
type Runs[T any] struct {
	list atomic.Pointer[[]T]
	used int
}

// Add keeps a copy of a list and returns where it is.
func (r *Runs[T]) Add(list []T) (at uint32) {
	all := r.list.Load()
	if all == nil || r.used+len(list) > len(*all) {
		longer := make([]T, max(64, 2*(r.used+len(list))))
		if all != nil {
			copy(longer, (*all)[:r.used])
		}
		all = &longer
	}
	at = uint32(r.used)
	r.used += copy((*all)[at:], list)
	r.list.Store(all)
	return at
}

// At returns the list of the given length at a place.
func (r *Runs[T]) At(at, length uint32) []T { return (*r.list.Load())[at : at+length : at+length] }

// Cap is how many elements there is memory for.
func (r *Runs[T]) Cap() int64 {
	if list := r.list.Load(); list != nil {
		return int64(len(*list))
	}
	return 0
}

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
	for at := mix.Number(key); ; at++ {
		s := &(*slots)[at&uint64(len(*slots)-1)]
		switch s.key.Load() {
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

// larger makes a copy with more space. Readers continue with the old one: what they miss there they look for again as
// writers.
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
	at := mix.Number(key) & mask
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
