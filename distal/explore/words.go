package explore

import (
	"slices"

	"github.com/lockstep-go/lockstep/internal/mix"
)

// words is a set of vectors of small numbers, all of one width, each known by the order in which it came. It is an open
// hash table over one flat array: a slot holds half of the hash beside the index, so that most misses touch no vector.
type words struct {
	width int
	keys  []uint32
	slots []uint64 // high half: part of the hash; low half: index + 1; 0: empty
	count int
}

func newWords(width, expected int) *words {
	size := 64
	for size < expected*2 {
		size *= 2
	}
	return &words{width: width, slots: make([]uint64, size)}
}

// find looks for a key. hash must be [mix.Words] of it.
func (w *words) find(key []uint32, hash uint64) (index int, ok bool) {
	mask := uint64(len(w.slots) - 1)
	tag := hash &^ 0xffffffff
	for at := hash & mask; w.slots[at] != 0; at = (at + 1) & mask {
		s := w.slots[at]
		if s&^0xffffffff != tag {
			continue
		}
		if index = int(s&0xffffffff) - 1; slices.Equal(w.key(index), key) {
			return index, true
		}
	}
	return 0, false
}

// insert finds key or adds it. hash must be [mix.Words] of it.
func (w *words) insert(key []uint32, hash uint64) (index int, fresh bool) {
	if i, ok := w.find(key, hash); ok {
		return i, false
	}
	if w.count*3 >= len(w.slots)*2 {
		w.slots = make([]uint64, len(w.slots)*2)
		for i := range w.count {
			w.place(i, mix.Words(w.key(i)))
		}
	}
	w.keys = append(w.keys, key...)
	w.place(w.count, hash)
	w.count++
	return w.count - 1, true
}

func (w *words) place(index int, hash uint64) {
	mask := uint64(len(w.slots) - 1)
	at := hash & mask
	for w.slots[at] != 0 {
		at = (at + 1) & mask
	}
	w.slots[at] = hash&^0xffffffff | uint64(index+1)
}

func (w *words) key(i int) []uint32 { return w.keys[i*w.width : i*w.width+w.width] }

func (w *words) bytes() int64 { return int64(cap(w.keys))*4 + int64(len(w.slots))*8 }
