package levels

import (
	"sort"

	"github.com/lockstep-go/lockstep/distal/internal/spill"
)

// history is what stays of a level: the origins of its states, coded, in runs that can each be read from their start.
type history struct {
	tape *spill.Tape
	runs []run
}

// run begins with a state and at a word of the tape.
type run struct{ state, word int64 }

// An origin is one word when its parent is not far behind the one before it, and its choice is small; otherwise
// three: a mark with the high part of the parent, the low part, the choice.
const (
	choiceBits = 11
	deltaBits  = 20
	long       = 1 << 31
)

func encode(origins []origin, out []uint32) []uint32 {
	last := uint64(0) // a parent before it is very far ahead, as unsigned numbers go
	for _, o := range origins {
		if o.parent-last < 1<<deltaBits && o.choice < 1<<choiceBits {
			out = append(out, uint32(o.parent-last)<<choiceBits|o.choice)
		} else {
			out = append(out, long|uint32(o.parent>>32), uint32(o.parent), o.choice)
		}
		last = o.parent
	}
	return out
}

// add appends a run of coded origins; the first is that of the given state.
func (h *history) add(state int64, backs []uint32) error {
	h.runs = append(h.runs, run{state, h.tape.Len()})
	return h.tape.Append(backs)
}

// origin finds the origin of a state.
func (h *history) origin(state uint64) (o origin, err error) {
	i := sort.Search(len(h.runs), func(i int) bool { return h.runs[i].state > int64(state) }) - 1
	c := h.tape.Cursor(h.runs[i].word)
	for range int64(state) - h.runs[i].state + 1 {
		w, err := c.Next()
		if err != nil {
			return o, err
		}
		if w&long == 0 {
			o.parent += uint64(w >> choiceBits)
			o.choice = w & (1<<choiceBits - 1)
			continue
		}
		low, err := c.Next()
		if err != nil {
			return o, err
		}
		o.parent = uint64(w&^long)<<32 | uint64(low)
		if o.choice, err = c.Next(); err != nil {
			return o, err
		}
	}
	return o, nil
}
