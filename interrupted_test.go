package lockstep_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// timed is a best-effort system. Its first run fails; the second exceeds the campaign's time.
type timed struct {
	up   context.CancelFunc
	runs *int
}

func (t timed) Describe() (lockstep.Info, error) {
	return lockstep.Info{
		Name:        "timed",
		Nodes:       1,
		Supports:    trace.KindsOf(trace.Wait),
		Pace:        1,
		Determinism: lockstep.BestEffort,
		Events:      []string{"bad"},
	}, nil
}
func (t timed) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) { return t, nil }

func (t timed) Reset(context.Context, uint64, *lockstep.Outbox) error {
	*t.runs++
	return nil
}

func (t timed) Do(ctx context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	if *t.runs > 1 {
		t.up()
		return ctx.Err()
	}
	out.Event(lockstep.Event{Node: 1, Type: "bad"})
	return nil
}

func (t timed) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }
func (t timed) Close() error                        { return nil }

// A finding stays if the campaign's time ends during its repetition.
func TestFoundAsTimeIsUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	never := spec.OnEvent("never", "bad",
		func(*int, *lockstep.Run, *lockstep.Event) *lockstep.Finding { return &lockstep.Finding{Text: "bad"} })
	result, err := lockstep.Explore(
		ctx,
		lockstep.Plan{
			System:      timed{cancel, new(int)},
			Spec:        never,
			Strategy:    strategy.Walk{Wait: 1, Steps: 3},
			Runs:        5,
			Workers:     1,
			Repetitions: 3,
		},
	)
	if err != nil || result.Verdict() != trace.Fail || result.First() == nil || result.First().Repeated != 0 {
		t.Errorf("%v, %+v, %v", result.Verdict(), result.First(), err)
	}
}

// stuck is a system whose deployment takes until its context ends.
type stuck struct {
	timed
	begun chan struct{}
}

func (s stuck) Deploy(ctx context.Context, _ *lockstep.Env) (lockstep.Deployment, error) {
	close(s.begun)
	<-ctx.Done()
	return nil, ctx.Err()
}

// An interrupted campaign does not wait for a deployment that fetches or starts something.
func TestInterruptedWhileDeploying(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	system := stuck{timed{cancel, new(int)}, make(chan struct{})}
	go func() {
		<-system.begun
		cancel()
	}()
	result, err := lockstep.Explore(ctx,
		lockstep.Plan{System: system, Strategy: strategy.Walk{Wait: 1, Steps: 3}, Runs: 5, Workers: 1})
	if err != nil || result.Runs != 0 || !result.Interrupted {
		t.Errorf("%+v, %v", result, err)
	}
}
