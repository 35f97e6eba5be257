package mix_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/internal/mix"
)

// Sequences of numbers that differ, in one number, in order or in length, have different
// hashes: of all short ones of small numbers, no two are alike.
func TestDifferent(t *testing.T) {
	seen := map[mix.Hash]string{}
	var add func(h mix.Hash, text string, left int)
	add = func(h mix.Hash, text string, left int) {
		if other, ok := seen[h]; ok {
			t.Fatalf("%q and %q have one hash", text, other)
		}
		seen[h] = text
		for v := uint64(0); v < 6 && left > 0; v++ {
			next := h
			next.Mix(v)
			add(next, fmt.Sprint(text, " ", v), left-1)
		}
	}
	add(mix.Start, "", 6)
}

func TestBytes(t *testing.T) {
	seen := map[mix.Hash]bool{}
	for a := range 256 {
		for b := range 256 {
			h := mix.Start
			h.Bytes([]byte{byte(a), byte(b)})
			if seen[h] {
				t.Fatalf("two pairs of bytes have the hash %x", h)
			}
			seen[h] = true
		}
	}
}
