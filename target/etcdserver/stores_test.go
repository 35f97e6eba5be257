package etcdserver

import (
	"context"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/enginetest"
	"github.com/lockstep-go/lockstep/kit/watch"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// store is the event in which a member tells of its store.
func store(n lockstep.Node, s Store) lockstep.Event {
	return lockstep.Event{Node: n, Type: EventStore, Value: &s}
}

// judged is what a spec finds in a run of a system, and how often it judged.
func judged(t *testing.T, system lockstep.System, walk strategy.Walk, spec lockstep.Spec, settle int) (string, int) {
	t.Helper()
	walk.Steps = 1
	r := enginetest.Explore(t, lockstep.Plan{System: system, Strategy: walk, Spec: spec, Settle: settle, Runs: 1})
	if f := r.First(); f != nil {
		return f.Finding.Text, r.Judged[0].N
	}
	return "", r.Judged[0].N
}

// Members that hold something else at a revision, or go back, are found.
func TestStores(t *testing.T) {
	for _, c := range []struct {
		name   string
		spec   lockstep.Spec
		events enginetest.Told
		want   string
		judged int
	}{
		{"equal", Equal, enginetest.Told{store(1, Store{1, 5, 0, 7}), store(2, Store{1, 5, 0, 7}), store(2, Store{1, 6, 0, 8}), store(3, Store{1, 5, 3, 9})}, "", 1},
		{"different", Equal, enginetest.Told{store(1, Store{1, 5, 0, 7}), store(2, Store{1, 5, 0, 8})},
			"members 1 and 2 differ at revision 5: the hashes of their keys are 00000007 and 00000008", 1},
		{"another one later", Equal, enginetest.Told{store(1, Store{1, 5, 0, 7}), store(1, Store{2, 5, 0, 8})},
			"member 1 held something else at revision 5 before: the hashes of its keys are 00000007 and 00000008", 1},
		{"forward", Forward, enginetest.Told{store(1, Store{1, 5, 0, 7}), store(1, Store{1, 5, 4, 7}), store(2, Store{1, 1, 0, 0}), store(1, Store{2, 3, 0, 7})}, "", 4},
		{"back", Forward, enginetest.Told{store(1, Store{2, 5, 0, 7}), store(1, Store{2, 4, 0, 7})},
			"member 1 was at revision 5, compacted up to 0, and is at revision 4, compacted up to 0", 2},
	} {
		if got, n := judged(t, c.events, strategy.Walk{Request: 1}, c.spec, 0); got != c.want || n != c.judged {
			t.Errorf("%s: %q, judged %d times, want %q, %d", c.name, got, n, c.want, c.judged)
		}
	}
}

// calmed is a system that tells that revision 5 was acknowledged, and a minute later what a member's
// store holds.
type calmed Store

// Describe says what it is.
func (calmed) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "calmed", Nodes: 1, Supports: trace.KindsOf(trace.Wait), OneClock: true, Pace: lockstep.Time(time.Minute)}, nil
}

// Deploy makes one.
func (c calmed) Deploy(*lockstep.Place) (lockstep.Deployment, error) { return c, nil }

// Abilities are none.
func (calmed) Abilities() lockstep.Abilities { return lockstep.Abilities{} }

// Close has nothing to close.
func (calmed) Close() error { return nil }

// Reset begins a run.
func (calmed) Reset(context.Context, uint64, *lockstep.Outbox) error { return nil }

// Do tells of both.
func (c calmed) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	if !out.Settling() {
		out.Event(lockstep.Event{Type: watch.EventWrote, Value: &watch.Wrote{Changes: []watch.Change{{Revision: 5}}}})
		return nil
	}
	out.Event(store(1, Store(c)))
	return nil
}

// A write that was acknowledged and is not there when faults have stopped is found.
func TestDurable(t *testing.T) {
	if got, n := judged(t, calmed{Revision: 5}, strategy.Walk{Wait: 1}, Durable, 3); got != "" || n != 1 {
		t.Errorf("%q, judged %d times", got, n)
	}
	want := "2m0s after the last fault member 1 is at revision 4; revision 5 was acknowledged"
	if got, n := judged(t, calmed{Revision: 4}, strategy.Walk{Wait: 1}, Durable, 3); got != want || n != 1 {
		t.Errorf("%q, judged %d times, want %q", got, n, want)
	}
}
