package mix_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/internal/mix"
)

// Sequences of numbers that differ, in one number, in order or in length, have different hashes. The test compares all
// short sequences of small numbers.
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

// Texts that differ, in one byte, in order or in length, have different hashes. The hash of the same bytes is equal to
// that of the text.
func TestText(t *testing.T) {
	seen := map[uint64]string{}
	var add func(text string, left int)
	add = func(text string, left int) {
		h := mix.Text(text)
		if other, ok := seen[h]; ok {
			t.Fatalf("%q and %q have one hash", text, other)
		}
		if seen[h] = text; mix.Bytes([]byte(text)) != h {
			t.Fatalf("%q has another hash as bytes", text)
		}
		for c := byte('a'); c < 'd' && left > 0; c++ {
			add(text+string(c), left-1)
		}
	}
	add("", 11)
}

// The high half of their hash spreads vectors of small numbers over a table randomly. With as many vectors as slots,
// about 1/e of the slots stay empty. The low half of the hash does so for numbers.
func TestSpread(t *testing.T) {
	const side = 1 << 8
	var words, numbers [side * side]bool
	for a := range uint32(side) {
		for b := range uint32(side) {
			words[mix.Words([]uint32{a, b})>>48] = true
			numbers[mix.Number(uint64(a)<<32|uint64(b))%(side*side)] = true
		}
	}
	for name, table := range map[string][side * side]bool{"words": words, "numbers": numbers} {
		empty := 0
		for _, full := range table {
			if !full {
				empty++
			}
		}
		if share := float64(empty) / side / side; share > 0.40 {
			t.Errorf("%s: %.2f of the places stay empty, 0.37 by chance", name, share)
		}
	}
}

// The seeds derived from one are the numbers of splitmix64, whose first three from 0 are known.
func TestSeed(t *testing.T) {
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := mix.Seed(0, i); got != want {
			t.Errorf("number %d is %x, want %x", i, got, want)
		}
	}
}

func TestBit(t *testing.T) {
	if mix.Bit(true) != 1 || mix.Bit(false) != 0 {
		t.Errorf("%d and %d", mix.Bit(true), mix.Bit(false))
	}
}
