package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Long is a number of 64 bits. In JSON it is a string, because not every language has such numbers; a plain number is
// also accepted.
type Long uint64

// MarshalJSON writes the number as a string.
func (l Long) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatUint(uint64(l), 10)), nil
}

// UnmarshalJSON reads a string or a number.
func (l *Long) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64)
	if err != nil {
		return fmt.Errorf("%s is not a number from 0 to 2^64-1", b)
	}
	*l = Long(n)
	return nil
}

var (
	orderNames  = [...]string{"ASK", "WELCOME", "RESET", "DELIVER", "FIRE", "REQUEST", "STOP", "START"}
	effectNames = [...]string{"SEND", "TIMER", "CANCEL", "EVENT"}
)

// String returns the name of the kind in the definition.
func (o OrderKind) String() string { return name(orderNames[:], uint32(o)) }

// String returns the name of the kind in the definition.
func (e EffectKind) String() string { return name(effectNames[:], uint32(e)) }

// MarshalJSON writes the name of the kind.
func (o OrderKind) MarshalJSON() ([]byte, error) { return json.Marshal(o.String()) }

// MarshalJSON writes the name of the kind.
func (e EffectKind) MarshalJSON() ([]byte, error) { return json.Marshal(e.String()) }

// UnmarshalJSON reads the name of a kind, or its number.
func (o *OrderKind) UnmarshalJSON(b []byte) error { return named(orderNames[:], b, (*uint32)(o)) }

// UnmarshalJSON reads the name of a kind, or its number.
func (e *EffectKind) UnmarshalJSON(b []byte) error { return named(effectNames[:], b, (*uint32)(e)) }

func name(names []string, k uint32) string {
	if int(k) < len(names) {
		return names[k]
	}
	return strconv.Itoa(int(k))
}

func named(names []string, b []byte, k *uint32) error {
	text := strings.Trim(string(b), `"`)
	for i, n := range names {
		if n == text {
			*k = uint32(i)
			return nil
		}
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return fmt.Errorf("kind %s is none of %s", b, strings.Join(names, ", "))
	}
	*k = uint32(n)
	return nil
}
