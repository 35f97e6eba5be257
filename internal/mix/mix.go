// Package mix is where numbers and texts are hashed: fast, for states, logs, tables and digests of
// runs. It is no protection against anybody who wants two things to look alike.
package mix

import "unsafe"

// Start is the hash of nothing.
const Start Hash = 14695981039346656037

// golden is an odd number near 2^64 divided by the golden ratio.
const golden = 0x9e3779b97f4a7c15

// Hash is a running hash.
type Hash uint64

// Mix takes a number into the hash.
func (h *Hash) Mix(v uint64) {
	x := (uint64(*h) ^ v) * golden
	*h = Hash(x ^ x>>29)
}

// Text takes a text into the hash.
func (h *Hash) Text(text string) { h.Mix(Text(text)) }

// Bytes takes bytes into the hash.
func (h *Hash) Bytes(data []byte) { h.Mix(Bytes(data)) }

// Number is the hash of a number, for a table.
func Number(v uint64) uint64 {
	var h Hash
	h.Mix(v)
	return uint64(h)
}

// Words is the hash of a vector.
func Words(vector []uint32) uint64 {
	h := Start
	for _, v := range vector {
		h.Mix(uint64(v))
	}
	return uint64(h)
}

// Text is the hash of a text, which is short as a rule. It takes eight bytes at a time; the
// last ones are read as two words that may overlap.
func Text(text string) uint64 {
	h := uint64(len(text)) * golden // not as it is: it would be taken for a difference of letters
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

// Bytes is the hash of the same as a text.
func Bytes(data []byte) uint64 { return Text(unsafe.String(unsafe.SliceData(data), len(data))) }

// word is the first four bytes of a text.
func word(text string) uint64 {
	_ = text[3]
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24
}

// Scramble is another number for each number, every bit of which depends on every bit of the first: the end of
// splitmix64. It is for what is added up or compared.
func Scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Seed is the seed with a number of those that come from one: splitmix64 from there, that many steps on.
func Seed(seed uint64, number int) uint64 { return Scramble(seed + (uint64(number)+1)*golden) }
