package ticks_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/ticks"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// watches is a system whose nodes do nothing but act when their time-out is over, which is
// ten times their number. Node 3 has a clock but never acts; node 4 has none. Acting sends a
// message where noise is set.
type watches struct {
	noise  bool
	clocks *ticks.Clocks
	out    *lockstep.Outbox
	left   [5]int
	log    []string
	ticked int
}

func (*watches) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "watches", Nodes: 4, Supports: trace.KindsOf(trace.Timer, trace.Deliver)}, nil
}
func (w *watches) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return w, nil
}
func (*watches) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }
func (*watches) Close() error                        { return nil }

func (w *watches) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	w.out, w.clocks, w.log, w.ticked = out, ticks.New(4, w), nil, 0
	for n := range 4 {
		w.left[n+1] = 10 * (n + 1)
		w.clocks.Start(lockstep.Node(n+1), out.Now())
	}
	w.clocks.Set(out)
	return nil
}

func (w *watches) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	w.out = out
	if s.Kind == trace.Timer {
		w.clocks.Fire(s.Node, out.Now())
	}
	w.clocks.Set(out)
	return nil
}

func (w *watches) Ticking(n lockstep.Node) bool { return n != 4 }

func (w *watches) Left(n lockstep.Node) int {
	if n == 3 {
		return 0
	}
	return w.left[n]
}

func (w *watches) Tick(n lockstep.Node) bool {
	w.ticked++
	if w.left[n]--; w.left[n] > 0 || n == 3 {
		return false
	}
	w.left[n] = 10 * int(n)
	w.log = append(w.log, fmt.Sprintf("%d at %d", n, w.out.Now()))
	if w.noise {
		w.out.Send(n, 1, "noise", trace.Tag{})
	}
	return true
}

// Time jumps to the next tick at which some node acts, so that a few timers are enough; a node
// without a clock has no timer.
func TestJump(t *testing.T) {
	w := &watches{}
	r, err := lockstep.Explore(context.Background(), lockstep.Plan{System: w, Strategy: strategy.Walk{Timer: 1}, Runs: 1,
		Steps: 12, Workers: 1})
	if err != nil || r.First() != nil {
		t.Fatal(r, err)
	}
	if len(w.log) < 4 || !slices.Contains(w.log, "1 at 10") {
		t.Errorf("in 12 steps there was %q", w.log)
	}
}

// While a message is on its way, time continues tick by tick.
func TestNoJumpOverMessages(t *testing.T) {
	w := &watches{noise: true}
	if _, err := lockstep.Explore(context.Background(), lockstep.Plan{System: w, Strategy: strategy.Walk{Timer: 1},
		Runs: 1, Steps: 12, Workers: 1}); err != nil {
		t.Fatal(err)
	}
	if len(w.log) > 2 || w.ticked > 45 {
		t.Errorf("in 12 steps, of which one jumps, there were %d ticks and %q", w.ticked, w.log)
	}
}
