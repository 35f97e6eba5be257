// Package servertest has helpers for tests of servers in processes: streams for decoders, and campaigns that are
// killed.
package servertest

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// Follow gives a stream to a decoder in pieces, until the stream ends or the decoder fails. It returns the packets that
// have a type, and the number of bytes left.
func Follow(t testing.TB, d process.Decoder, stream []byte,
	piece int) (packets []process.Packet, rest int, wrong error) {
	t.Helper()
	have := []byte{}
	for len(stream) > 0 {
		n := min(piece, len(stream))
		have, stream = append(have, stream[:n]...), stream[n:]
		for len(have) > 0 {
			p, length, err := d.Next(have)
			if err != nil {
				return packets, len(have), err
			}
			if length < 0 || length > len(have) {
				t.Fatalf("takes %d of %d bytes", length, len(have))
			}
			if length == 0 {
				break
			}
			if have = have[length:]; p.Type != "" {
				packets = append(packets, p)
			}
		}
	}
	return packets, len(have), nil
}

// Mother is the TestMain of a package whose test kills campaigns of a target, see [processes.Killed]. The campaigns
// have the target's system without options, its spec, and the default strategy and settling stage of its runs.
func Mother(m *testing.M, of target.Target) {
	processes.Mother(m, func(dir string) error {
		system, err := of.Build(nil)
		if err != nil {
			return err
		}
		s, err := strategy.Parse(of.Strategy)
		if err != nil {
			return err
		}
		_, err = lockstep.Explore(
			context.Background(),
			lockstep.Plan{
				System:   system,
				Spec:     of.Spec,
				Strategy: s,
				Settle:   of.Settle,
				Workers:  1,
				Runs:     1 << 20,
				Scratch:  dir,
			},
		)
		return err
	})
}
