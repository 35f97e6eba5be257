// Package mix is a fast running hash of numbers, for states and logs. It is no protection
// against anybody who wants two things to look alike.
package mix

// Start is the hash of nothing.
const Start Hash = 14695981039346656037

// Hash is a running hash.
type Hash uint64

// Mix takes a number into the hash.
func (h *Hash) Mix(v uint64) {
	x := (uint64(*h) ^ v) * 0x9e3779b97f4a7c15
	*h = Hash(x ^ x>>32)
}

// Bytes takes bytes into the hash, but not how many they are.
func (h *Hash) Bytes(data []byte) {
	x := uint64(*h)
	for _, b := range data {
		x = (x ^ uint64(b)) * 1099511628211
	}
	*h = Hash(x ^ x>>31)
}
