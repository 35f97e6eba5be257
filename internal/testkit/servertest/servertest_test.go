package servertest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
	"github.com/lockstep-go/lockstep/process"
)

// threes decodes packets of three bytes. Packets that begin with x have a type.
type threes struct{}

func (threes) Next(b []byte) (process.Packet, int, error) {
	switch {
	case b[0] == '!':
		return process.Packet{}, 0, errors.New("not understood")
	case len(b) < 3:
		return process.Packet{}, 0, nil
	case b[0] == 'x':
		return process.Packet{Type: string(b[:3])}, 3, nil
	}
	return process.Packet{}, 3, nil
}

// A stream in pieces of any length yields the same packets and the same rest, up to the first error.
func TestFollow(t *testing.T) {
	for stream, want := range map[string]string{
		"":           "[] 0 <nil>",
		"x12abcx45x": "[x12 x45] 1 <nil>",
		"x12!":       "[x12] 1 not understood",
	} {
		for piece := 1; piece <= 10; piece++ {
			packets, rest, err := servertest.Follow(t, threes{}, []byte(stream), piece)
			names := []string{}
			for _, p := range packets {
				names = append(names, p.Type)
			}
			if got := fmt.Sprint(names, rest, err); got != want {
				t.Errorf("%q in pieces of %d: %s, want %s", stream, piece, got, want)
			}
		}
	}
}
