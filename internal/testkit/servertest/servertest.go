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
		plan, err := plan(of, of.Strategy)
		if err != nil {
			return err
		}
		plan.Runs, plan.Scratch = 1<<20, dir
		_, err = lockstep.Explore(context.Background(), plan)
		return err
	})
}

// plan returns the plan of a campaign on a target, with options as on the command line, its spec and its settling
// stage. One worker makes the runs.
func plan(of target.Target, with string, options ...string) (lockstep.Plan, error) {
	system, err := of.Build(options)
	if err != nil {
		return lockstep.Plan{}, err
	}
	s, err := strategy.Parse(with)
	return lockstep.Plan{System: system, Spec: of.Spec, Strategy: s, Settle: of.Settle,
		Workers: 1}, err
}

// Plan returns the plan of a campaign on a target, with a strategy and options as on the command line.
func Plan(t testing.TB, of target.Target, seed uint64, with string, options ...string) lockstep.Plan {
	t.Helper()
	p, err := plan(of, with, options...)
	if err != nil {
		t.Fatal(err)
	}
	p.Seed, p.Scratch = seed, t.TempDir()
	return p
}
