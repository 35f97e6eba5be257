// Package servertest is what tests of servers in processes share: streams for decoders, rows of tables that are made as far
// as the time goes, and campaigns that are killed.
package servertest

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/processes"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// Follow gives a stream to a decoder in pieces, until it is at an end or not understood. It returns the packets that have a type, and tells how
// many bytes are left.
func Follow(t testing.TB, d process.Decoder, stream []byte, piece int) (packets []process.Packet, rest int, wrong error) {
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

var (
	rows = flag.String("rows", "", "rows of the paper's tables to make, by their names, with commas in between; empty: all")
	each = flag.Duration("each", time.Minute, "time for a row")
)

// Wanted reports whether the row of that name is to be made.
func Wanted(name string) bool { return *rows == "" || strings.Contains(","+*rows+",", ","+name+",") }

// Row makes runs of a row's plan for the time that a row has, and tells how many it makes an hour.
func Row(t testing.TB, plan lockstep.Plan) (result *lockstep.Result, perHour float64, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *each)
	defer cancel()
	begin := time.Now()
	if result, err = lockstep.Explore(ctx, plan); err != nil {
		return nil, 0, err
	}
	return result, float64(result.Runs) / time.Since(begin).Hours(), nil
}

// Mother is the TestMain of a package whose test kills campaigns of a target, see [processes.Killed]: they have its system without options, its
// spec, and the strategy and settling stage that its runs have unless told otherwise.
func Mother(m *testing.M, of target.Target) {
	processes.Mother(m, func(folder string) error {
		system, err := of.Build(nil)
		if err != nil {
			return err
		}
		s, err := strategy.Parse(of.Strategy)
		if err != nil {
			return err
		}
		_, err = lockstep.Explore(context.Background(), lockstep.Plan{System: system, Spec: of.Spec, Strategy: s, Settle: of.Settle, Workers: 1, Runs: 1 << 20, Scratch: folder})
		return err
	})
}
