package core

import (
	"encoding/binary"
	"slices"
)

// Value is a value of any type; its static type says how to read it. N holds a bool (0, 1), an int, the number of a
// node (1..n), the index of an enum value, or the sender of a message. E holds the elements of a sequence, the sorted
// and distinct elements of a set, the fields of a record or message, or the content of an optional value that is
// present. Values are never changed once made, so they may be shared.
type Value struct {
	N int64
	E []Value
}

// Truth makes a truth value.
func Truth(b bool) Value {
	if b {
		return Value{N: 1}
	}
	return Value{}
}

// SomeOf makes a present optional value.
func SomeOf(v Value) Value { return Value{N: 1, E: []Value{v}} }

// Compare is a total order on values of one type: numbers by size, everything else in a fixed order that serves only
// to make representations unique.
func Compare(a, b Value) int {
	switch {
	case a.N < b.N:
		return -1
	case a.N > b.N:
		return 1
	case len(a.E) != len(b.E):
		if len(a.E) < len(b.E) {
			return -1
		}
		return 1
	}
	for i := range a.E {
		if c := Compare(a.E[i], b.E[i]); c != 0 {
			return c
		}
	}
	return 0
}

// MakeSet sorts elements and removes equal ones; it takes over the slice.
func MakeSet(elems []Value) Value {
	slices.SortFunc(elems, Compare)
	out := elems[:0]
	for i, v := range elems {
		if i == 0 || Compare(v, out[len(out)-1]) != 0 {
			out = append(out, v)
		}
	}
	return Value{E: out}
}

// Contains says whether v is among the elements.
func Contains(elems []Value, v Value) bool {
	for _, e := range elems {
		if Compare(e, v) == 0 {
			return true
		}
	}
	return false
}

// IsPrefix says whether sequence a begins sequence b.
func IsPrefix(a, b Value) bool {
	if len(a.E) > len(b.E) {
		return false
	}
	for i := range a.E {
		if Compare(a.E[i], b.E[i]) != 0 {
			return false
		}
	}
	return true
}

// AppendValue writes v so that equal values, and only they, give equal bytes.
func AppendValue(buf []byte, v Value) []byte {
	buf = binary.AppendVarint(buf, v.N)
	buf = binary.AppendUvarint(buf, uint64(len(v.E)))
	for _, e := range v.E {
		buf = AppendValue(buf, e)
	}
	return buf
}
