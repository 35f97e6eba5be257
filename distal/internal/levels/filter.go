package levels

// filter drops candidates that the same worker has put forward before in this level, at no higher cost: the earlier one
// would win anyway. It is a small table in which newcomers replace what is there, and it gives up for the rest of
// the level when it finds little. What it drops depends on how work was spread; the states that remain do not.
type filter struct {
	n     int
	mask  uint32
	slots []uint32 // records of n local states and the cost plus one; 0: empty
	tried int
	hits  int
	off   bool
}

const (
	filterSize  = 1 << 14 // most records
	filterTrial = 1 << 15 // candidates after which the filter is checked
)

// open empties the filter for a level made from so many states.
func (f *filter) open(states int64) {
	size := 1 << 8
	for int64(size) < states*4 && size < filterSize {
		size *= 2
	}
	if need := size * (f.n + 1); cap(f.slots) < need {
		f.slots = make([]uint32, need)
	} else {
		f.slots = f.slots[:need]
		clear(f.slots)
	}
	f.mask, f.tried, f.hits, f.off = uint32(size-1), 0, 0, false
}

// double says whether the vector was seen before at no higher cost, and remembers it. The hash must be mixed well.
func (f *filter) double(vec []uint32, cost, hash uint32) bool {
	if f.tried++; f.tried == filterTrial {
		f.off = f.hits < filterTrial/8
		f.tried, f.hits = 0, 0
	}
	at := int(hash&f.mask) * (f.n + 1)
	slot := f.slots[at : at+f.n+1]
	if slot[f.n] != 0 && slot[f.n] <= cost+1 && equal(slot, vec) {
		f.hits++
		return true
	}
	copy(slot, vec)
	slot[f.n] = cost + 1
	return false
}

func (f *filter) bytes() int64 { return int64(cap(f.slots)) * 4 }
