package lockstep_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// trap blocks a node until the test ends. The watchdog looks twice each time that a node got into it.
type trap struct {
	entered, out chan struct{}
	once         bool // it blocks only the first node
	caught       atomic.Bool
}

func newTrap(t *testing.T) *trap {
	tr := &trap{entered: make(chan struct{}, 100), out: make(chan struct{})}
	t.Cleanup(func() { close(tr.out) })
	return tr
}

func (tr *trap) stuckInside() {
	if tr.caught.Swap(true) && tr.once {
		return
	}
	tr.entered <- struct{}{}
	<-tr.out
}

func (tr *trap) watch() (<-chan time.Time, func()) {
	look, over := make(chan time.Time), make(chan struct{})
	go func() {
		for {
			select {
			case <-over:
				return
			case <-tr.entered:
			}
			select {
			case <-over: // another watchdog was to see it
				tr.entered <- struct{}{}
				return
			default:
			}
			for range 2 {
				select {
				case <-over:
				case look <- time.Time{}:
				}
			}
		}
	}()
	return look, func() { close(over) }
}

// trapped is a plan whose nodes block when they receive a certain number.
func trapped(tr *trap) lockstep.Plan {
	return lockstep.Plan{System: toy.Cluster(func(_ *sim.Context[int], m int) {
		if m == 7 {
			tr.stuckInside()
		}
	}), Strategy: strategy.Walk{Deliver: 3, Timer: 1, Steps: 40}, Runs: 200, Workers: 1, Watchdog: tr.watch}
}

// A hanging run is a finding with its step, its stack and its trace. The campaign continues under KeepGoing.
// Replaying the trace hangs again, and reports it.
func TestHang(t *testing.T) {
	tr := newTrap(t)
	plan := trapped(tr)
	r, err := lockstep.Explore(context.Background(), plan)
	if err != nil || r.First() == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	f := r.First()
	if f.Finding.Property != lockstep.Hang ||
		!strings.Contains(f.Finding.Stack, "lockstep_test.(*trap).stuckInside\n\twatch_test.go:") {
		t.Errorf("finding %+v", f.Finding)
	}
	last := f.Trace.Records[len(f.Trace.Records)-1]
	if f.Trace.Outcome.Verdict != trace.Fail || last.Number != f.Finding.Step ||
		!strings.Contains(f.Finding.Text, last.Text) ||
		f.Failed != 1 {
		t.Errorf("trace ends in %+v, finding %+v", last, f.Finding)
	}
	if r.Left != 2 || r.Stalls != 0 || r.Verdict() != trace.Fail {
		t.Errorf("%d left, %d stalls, verdict %s", r.Left, r.Stalls, r.Verdict())
	}
	again, err := replay.Run(context.Background(), plan, f.Trace)
	if err != nil || again.Trace.Outcome.Finding == nil || again.Trace.Outcome.Finding.Property != lockstep.Hang {
		t.Errorf("replayed: %+v, %v", again, err)
	}
	k, err := artifact.Run(context.Background(), plan, f.Trace, artifact.Options{Dir: t.TempDir()})
	if err != nil || k.File == "" || k.NotShrunk == nil {
		t.Errorf("kept: %+v, %v", k, err)
	}
}

// An interrupt does not wait for a hanging run, in a campaign or in a replay, though the watchdog is idle.
func TestInterruptedHang(t *testing.T) {
	tier.NotShort(t)
	tr := newTrap(t)
	plan := trapped(tr)
	found, err := lockstep.Explore(t.Context(), plan)
	if err != nil || found.First() == nil {
		t.Fatalf("%+v, %v", found, err)
	}
	plan.Watchdog = func() (<-chan time.Time, func()) { return nil, func() {} }
	interrupt := func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-tr.entered; cancel() }()
		return ctx
	}
	for _, workers := range []int{1, 2} {
		plan.Workers = workers
		r, err := lockstep.Explore(interrupt(), plan)
		if err != nil || r.First() != nil {
			t.Errorf("%d workers: %+v, %v", workers, r, err)
		}
	}
	if _, err := replay.Run(interrupt(), plan, found.First().Trace); !errors.Is(err, context.Canceled) {
		t.Errorf("replayed: %v", err)
	}
}

// A hanging run of a runner is a finding, and the runner continues, up to a number of hangs.
func TestBenchHang(t *testing.T) {
	tr := newTrap(t)
	plan := trapped(tr)
	found, err := lockstep.Explore(t.Context(), plan)
	if err != nil || found.First() == nil {
		t.Fatalf("%+v, %v", found, err)
	}
	b, err := lockstep.NewRunner(plan)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for range 4 {
		o, err := b.Run(t.Context(), found.First().Run, nil)
		if err != nil || o.Finding == nil || o.Finding.Property != lockstep.Hang ||
			!strings.Contains(o.Finding.Stack, "stuckInside") {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	if _, err := b.Run(t.Context(), found.First().Run, nil); err == nil ||
		!strings.Contains(err.Error(), "5 goroutines that hang") {
		t.Errorf("the fifth time: %v", err)
	}
}

// The runs around a hanging one are as they are without the watchdog.
func TestHangContinues(t *testing.T) {
	tr := newTrap(t)
	plan := trapped(tr)
	plan.KeepGoing = true
	r, err := lockstep.Explore(context.Background(), plan)
	if err == nil ||
		!strings.Contains(err.Error(), "goroutines that hang are left running, the most that a campaign tolerates") {
		t.Errorf("error %v", err)
	}
	if len(r.Failures) < 2 || r.Runs <= r.Failures[0].Run+1 {
		t.Errorf("%d found in %d runs", len(r.Failures), r.Runs)
	}
}

// A node that was only slow is no finding.
func TestStall(t *testing.T) {
	tr := newTrap(t)
	tr.once = true
	plan := trapped(tr)
	r, err := lockstep.Explore(context.Background(), plan)
	if err != nil || r.Runs != 200 || r.Verdict() != trace.Pass || r.Stalls != 1 || r.Left != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	plan.Watchdog = nil
	plain, err := lockstep.Explore(context.Background(), plan)
	if err != nil || plain.Digest != r.Digest || plain.Steps != r.Steps {
		t.Errorf("digest %x, with the watchdog %x (%v)", plain.Digest, r.Digest, err)
	}
}

// If no other deployment can replace a hanging one, the campaign ends and says why.
func TestHangOfASerialSystem(t *testing.T) {
	tr := newTrap(t)
	plan := trapped(tr)
	plan.System = toy.Wrapped{System: plan.System, Info: func(i *lockstep.Info) { i.Serial = true }}
	_, err := lockstep.Explore(context.Background(), plan)
	if err == nil ||
		!strings.Contains(err.Error(),
			"of seed 0 hangs: no step ended in the time of the watchdog; there may be only one deployment of") ||
		!strings.Contains(err.Error(), "stuckInside") {
		t.Errorf("error %v", err)
	}
}
