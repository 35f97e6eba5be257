// Package servertest has helpers for tests of servers in processes: streams for decoders, table rows made within a time
// limit, and campaigns that are killed.
package servertest

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// Follow gives a stream to a decoder in pieces, until the stream ends or the decoder fails. It returns the packets that
// have a type, and the number of bytes left.
func Follow(
	t testing.TB,
	d process.Decoder,
	stream []byte,
	piece int,
) (packets []process.Packet, rest int, wrong error) {
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
	rows = flag.String(
		"rows",
		"",
		"rows of the paper's tables to make, by their names, with commas in between; empty: all",
	)
	each = flag.Duration("each", time.Minute, "time for a row")
)

// Wanted reports whether the flags select the row of that name.
func Wanted(name string) bool { return *rows == "" || strings.Contains(","+*rows+",", ","+name+",") }

// Row makes runs of a row's plan until the row's time limit, and returns the number of runs per hour. It logs the parts
// of their time, and the reasons of inconclusive runs.
func Row(t testing.TB, plan lockstep.Plan) (result *lockstep.Result, perHour float64, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *each)
	defer cancel()
	var spent Spent
	specs := []lockstep.Spec{spent.Spec()}
	if plan.Spec != nil { // a row may have an observer instead of a spec
		specs = append(specs, plan.Spec)
	}
	plan.Spec = spec.All(specs...)
	begin := time.Now()
	defer func() {
		if result != nil {
			t.Logf("time: %s", &spent)
			for reason, n := range result.Reasons {
				t.Logf("%d runs said nothing: %s", n, reason)
			}
		}
	}()
	if result, err = lockstep.Explore(ctx, plan); err != nil {
		return nil, 0, err
	}
	return result, float64(result.Runs) / time.Since(begin).Hours(), nil
}

// Spent adds up the parts of the time of runs.
type Spent struct {
	mutex sync.Mutex
	sum   process.Spent
	runs  int
}

// Spec returns a spec that checks nothing, and records the time of complete runs.
func (s *Spent) Spec() lockstep.Spec {
	return spec.OnEvent(
		"time",
		process.EventTime,
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			if t, ok := e.Value.(process.Spent); ok {
				s.mutex.Lock()
				defer s.mutex.Unlock()
				s.sum.Add(t)
				s.runs++
			}
			return nil
		},
	)
}

// String formats the mean time of a run, and its parts.
func (s *Spent) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	mean := (s.sum.Starting + s.sum.Waiting + s.sum.Working) / time.Duration(max(s.runs, 1))
	return fmt.Sprintf("%s a run in the mean of %d, %s", mean.Round(time.Millisecond), s.runs, s.sum)
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
