package lockstep_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// looks counts how often its monitor is called, with events and without.
type looks struct {
	only          bool
	with, without *int
}

func (looks) Properties() []string                 { return []string{"looks"} }
func (l looks) New(lockstep.Info) lockstep.Monitor { return l }
func (looks) Reset()                               {}
func (l looks) EventsOnly() bool                   { return l.only }
func (looks) End(*lockstep.Run) *lockstep.Finding  { return nil }
func (looks) Conclude(bool) lockstep.Conclusion    { return lockstep.Conclusion{} }
func (l looks) Step(run *lockstep.Run) *lockstep.Finding {
	if len(run.Events()) > 0 {
		*l.with++
	} else if run.Steps() > 0 {
		*l.without++
	}
	return nil
}

// talker is a system that records whether it is watched.
type talker struct {
	lockstep.System
	watched *[2]int
}

func (t talker) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	d, err := t.System.Deploy(ctx, p)
	return talks{d, t.watched}, err
}

type talks struct {
	lockstep.Deployment
	watched *[2]int
}

func (t talks) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if out.Watched() {
		t.watched[1]++
	} else {
		t.watched[0]++
	}
	return t.Deployment.Do(ctx, s, out)
}

// eventful is a walk whose scheduler looks at events.
type eventful struct{ strategy.Walk }

func (e eventful) Fit(info lockstep.Info) (lockstep.Terms, error) {
	t, err := e.Walk.Fit(info)
	t.Events = true
	return t, err
}

func (e eventful) New(info lockstep.Info) lockstep.Scheduler {
	return &eventWalker{Scheduler: e.Walk.New(info)}
}

type eventWalker struct {
	lockstep.Scheduler
	seen int
}

func (e *eventWalker) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	e.seen += len(turn.Events())
	return e.Scheduler.Next(turn, next)
}

func (e *eventWalker) Report(drawn bool) lockstep.SchedulerStats {
	if e.seen == 0 {
		panic("a scheduler that looks at events has seen none")
	}
	return e.Scheduler.Report(drawn)
}

// Events without an observer are counted and are part of the digest like others. A system learns that it is watched
// if there is a spec, a scheduler that wants events, or a recording.
func TestWatched(t *testing.T) {
	var a, b int
	var want *lockstep.Result
	for i, c := range []struct {
		spec     lockstep.Spec
		strategy lockstep.Strategy
		watched  bool
	}{
		{nil, strategy.DefaultWalk, false},
		{looks{with: &a, without: &b}, strategy.DefaultWalk, true},
		{nil, eventful{strategy.DefaultWalk}, true},
	} {
		var watched [2]int
		plan := lockstep.Plan{
			System:   talker{toy.Cluster(nil), &watched},
			Strategy: c.strategy,
			Spec:     c.spec,
			Runs:     20,
			Workers:  1,
		}
		r := enginetest.Explore(t, plan)
		if c.watched != (watched[1] > 0) || c.watched == (watched[0] > 0) {
			t.Errorf("plan %d: watched in %d steps and not in %d", i, watched[1], watched[0])
		}
		if want == nil {
			want = r
		}
		if len(r.Events) == 0 || !reflect.DeepEqual(r.Events, want.Events) || r.Digest != want.Digest {
			t.Errorf("plan %d: digest %x and events %v, want %x and %v", i, r.Digest, r.Events, want.Digest,
				want.Events)
		}
		watched = [2]int{}
		if tr, err := lockstep.Record(context.Background(), plan, 0); err != nil || watched[0] > 0 || watched[1] == 0 ||
			!slices.ContainsFunc(tr.Records, func(r trace.Record) bool { return len(r.Events) > 0 }) {
			t.Errorf("plan %d: a recording has no events, or is not watched in %d steps: %v", i, watched[0], err)
		}
	}
}

// A monitor that looks at events only sees all of them, and no step without events.
func TestEventsOnly(t *testing.T) {
	var with, without [2]int
	for i, only := range []bool{false, true} {
		enginetest.Explore(
			t,
			lockstep.Plan{System: toy.Cluster(nil), Strategy: strategy.DefaultWalk, Runs: 20, Workers: 1,
				Spec: looks{only: only, with: &with[i], without: &without[i]}},
		)
	}
	if with[0] == 0 || with[0] != with[1] || without[0] == 0 || without[1] != 0 {
		t.Errorf("called %v times with events and %v times without", with, without)
	}
}
