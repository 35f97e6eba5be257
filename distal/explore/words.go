package explore

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

// hashWords mixes a vector.
func hashWords(key []uint32) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, k := range key {
		h = (h ^ uint64(k)) * 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	return h
}

// mix turns a small number into 64 well-spread bits (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// insert finds key or adds it. hash must be a function of the key.
func (w *words) insert(key []uint32, hash uint64) (index int, fresh bool) {
	mask := uint64(len(w.slots) - 1)
	tag := hash &^ 0xffffffff
	for at := hash & mask; ; at = (at + 1) & mask {
		s := w.slots[at]
		if s == 0 {
			index = w.count
			w.keys = append(w.keys, key...)
			w.slots[at] = tag | uint64(index+1)
			w.count++
			return index, true
		}
		if s&^0xffffffff != tag {
			continue
		}
		index = int(s&0xffffffff) - 1
		if equalWords(w.keys[index*w.width:index*w.width+w.width], key) {
			return index, false
		}
	}
}

func equalWords(a, b []uint32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// roomy makes room for one more key; rehash gives the hash of the i-th key again.
func (w *words) roomy(rehash func(i int) uint64) {
	if w.count*3 < len(w.slots)*2 {
		return
	}
	slots := make([]uint64, len(w.slots)*2)
	mask := uint64(len(slots) - 1)
	for i := range w.count {
		h := rehash(i)
		at := h & mask
		for slots[at] != 0 {
			at = (at + 1) & mask
		}
		slots[at] = h&^0xffffffff | uint64(i+1)
	}
	w.slots = slots
}

func (w *words) key(i int) []uint32 { return w.keys[i*w.width : i*w.width+w.width] }

func (w *words) bytes() int64 { return int64(cap(w.keys))*4 + int64(len(w.slots))*8 }
