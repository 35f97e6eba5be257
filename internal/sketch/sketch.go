// Package sketch estimates the number of distinct values without storing them (HyperLogLog, after Flajolet, Fusy,
// Gandouet and Meunier, 2007). A sketch of a million values takes four kilobytes. Sketches of different machines can be
// merged.
package sketch

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/lockstep-go/lockstep/internal/mix"
)

// bitsOf is the number of bits of a hash that select a register.
const (
	bitsOf = 12
	size   = 1 << bitsOf
	// maxZeros is the largest value of a register: all other bits of a hash are zero.
	maxZeros = 64 - bitsOf + 1
)

// Sketch has one register for each prefix of a hash: the largest number of zeros that followed it. The zero value is
// empty. As JSON it is a string.
type Sketch []byte

// Add adds hashes.
func (s *Sketch) Add(hashes ...uint64) {
	if len(*s) == 0 && len(hashes) > 0 {
		*s = make(Sketch, size)
	}
	for _, h := range hashes {
		h = mix.Scramble(h) // the estimate needs hashes that resemble random numbers
		zeros := byte(bits.LeadingZeros64(h<<bitsOf|1<<(bitsOf-1)) + 1)
		if at := h >> (64 - bitsOf); zeros > (*s)[at] {
			(*s)[at] = zeros
		}
	}
}

// Merge adds the values of another sketch.
func (s *Sketch) Merge(other Sketch) error {
	if len(other) == 0 {
		return nil
	}
	if len(other) != size {
		return fmt.Errorf("a sketch has %d registers, this one has %d", size, len(other))
	}
	if i := slices.IndexFunc(other, func(zeros byte) bool { return zeros > maxZeros }); i >= 0 {
		return fmt.Errorf("register %d of a sketch holds %d, at most %d is possible", i, other[i], maxZeros)
	}
	if len(*s) == 0 {
		*s = make(Sketch, size)
	}
	for i, zeros := range other {
		(*s)[i] = max((*s)[i], zeros)
	}
	return nil
}

// Count estimates the number of distinct hashes. Its standard error is 1.6 %.
func (s Sketch) Count() int {
	if len(s) == 0 {
		return 0
	}
	sum, empty := 0.0, 0
	for _, zeros := range s {
		sum += math.Ldexp(1, -int(zeros))
		if zeros == 0 {
			empty++
		}
	}
	count := 0.7213 / (1 + 1.079/size) * size * size / sum
	if count <= 2.5*size && empty > 0 { // for small counts, the number of empty registers is more accurate
		count = size * math.Log(float64(size)/float64(empty))
	}
	return int(math.Round(min(count, 1<<53)))
}
