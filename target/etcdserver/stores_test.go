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

// calmed is a system that tells something with each wait of 20 seconds, of which the first is before faults stop.
type calmed struct {
	waits [][]lockstep.Event
	at    *int
}

// Describe says what it is.
func (calmed) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "calmed", Nodes: 1, Supports: trace.KindsOf(trace.Wait), OneClock: true, Pace: lockstep.Time(20 * time.Second)}, nil
}

// Deploy makes one.
func (c calmed) Deploy(*lockstep.Place) (lockstep.Deployment, error) {
	c.at = new(int)
	return c, nil
}

// Abilities are none.
func (calmed) Abilities() lockstep.Abilities { return lockstep.Abilities{} }

// Close has nothing to close.
func (calmed) Close() error { return nil }

// Reset begins a run.
func (c calmed) Reset(context.Context, uint64, *lockstep.Outbox) error {
	*c.at = 0
	return nil
}

// Do tells what is next.
func (c calmed) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	for _, e := range c.waits[*c.at] {
		out.Event(e)
	}
	*c.at++
	return nil
}

// A write that was acknowledged and is not there when faults have stopped is found; one that was acknowledged just
// now may be on its way to members, and what a member told may be older than it.
func TestDurable(t *testing.T) {
	wrote := func(r int64) lockstep.Event {
		return lockstep.Event{Type: watch.EventWrote, Value: &watch.Wrote{Changes: []watch.Change{{Revision: r}}}}
	}
	is := func(r int64) lockstep.Event { return store(1, Store{Life: 1, Revision: r}) }
	for _, c := range []struct {
		name   string
		waits  [][]lockstep.Event
		want   string
		judged int
	}{
		{"there", [][]lockstep.Event{{wrote(5)}, {is(4)}, nil, {is(5)}}, "", 1},
		{"lost", [][]lockstep.Event{{wrote(5)}, {is(4)}, nil, {is(4)}}, "40s after the last fault member 1 is at revision 4; revision 5 was acknowledged", 1},
		{"lost later", [][]lockstep.Event{{wrote(5)}, {wrote(6)}, nil, {is(5)}}, "40s after the last fault member 1 is at revision 5; revision 6 was acknowledged", 1},
		{"found in the end", [][]lockstep.Event{{wrote(5)}, {is(4)}, nil, {is(4)}, {is(5)}}, "", 1},
		{"told too early", [][]lockstep.Event{{wrote(5)}, {is(4)}, {is(4)}, nil}, "", 0},
		{"on its way", [][]lockstep.Event{{wrote(5)}, {is(5)}, {wrote(6)}, {is(5)}}, "", 1},
		{"acknowledged after the member told", [][]lockstep.Event{{wrote(5)}, {is(5)}, nil, {is(5), wrote(6)}}, "", 1},
		{"nothing acknowledged", [][]lockstep.Event{nil, {is(1)}, nil, {is(1)}}, "", 0},
	} {
		if got, n := judged(t, calmed{waits: c.waits}, strategy.Walk{Wait: 1}, Durable, len(c.waits)-1); got != c.want || n != c.judged {
			t.Errorf("%s: %q, judged %d times, want %q, %d", c.name, got, n, c.want, c.judged)
		}
	}
}
