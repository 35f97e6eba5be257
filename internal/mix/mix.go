// Package mix hashes numbers and texts fast, for states, logs, tables and digests of runs. The hashes are not
// cryptographic: an attacker can construct collisions.
package mix

import "unsafe"

// Start is the hash of the empty sequence.
const Start Hash = 14695981039346656037

// golden is an odd number near 2^64 divided by the golden ratio.
const golden = 0x9e3779b97f4a7c15

// Hash is a running hash.
type Hash uint64

// Mix adds a number to the hash.
func (h *Hash) Mix(v uint64) {
	x := (uint64(*h) ^ v) * golden
	*h = Hash(x ^ x>>29)
}

// Text adds a text to the hash.
func (h *Hash) Text(text string) { h.Mix(Text(text)) }

// Bytes adds bytes to the hash.
func (h *Hash) Bytes(data []byte) { h.Mix(Bytes(data)) }

// Number returns the hash of a number, for a table.
func Number(v uint64) uint64 {
	var h Hash
	h.Mix(v)
	return uint64(h)
}

// Words returns the hash of a vector.
func Words(vector []uint32) uint64 {
	h := Start
	for _, v := range vector {
		h.Mix(uint64(v))
	}
	return uint64(h)
}

// Text returns the hash of a text, which is usually short. It reads eight bytes at a time, and the last ones as two
// words that may overlap.
func Text(text string) uint64 {
	h := uint64(len(text)) * golden // multiplied: a plain length could cancel a difference of letters
	for ; len(text) > 8; text = text[8:] {
		h = (h ^ word(text) ^ word(text[4:])<<32) * golden
		h ^= h >> 32
	}
	switch n := len(text); {
	case n >= 4:
		h ^= word(text) ^ word(text[n-4:])<<32
	case n > 0:
		h ^= uint64(text[0])<<8 ^ uint64(text[n/2])<<16 ^ uint64(text[n-1])<<24
	}
	return h * golden
}

// Bytes returns the same hash as the text of these bytes.
func Bytes(data []byte) uint64 { return Text(unsafe.String(unsafe.SliceData(data), len(data))) }

// word returns the first four bytes of a text.
func word(text string) uint64 {
	_ = text[3]
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24
}

// Scramble maps each number to another one. Every bit of the result depends on every bit of the argument: it is the
// final step of splitmix64. It is for numbers that are added up or compared.
func Scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Seed returns the seed with this number of the sequence that splitmix64 derives from a seed.
func Seed(seed uint64, number int) uint64 { return Scramble(seed + (uint64(number)+1)*golden) }

// Bit is a truth value as a number, 1 or 0, to mix or to count.
func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
