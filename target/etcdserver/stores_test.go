package etcdserver

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
)

// store is the event in which a member reports its store.
func store(n lockstep.Node, s Store) lockstep.Event {
	return lockstep.Event{Node: n, Type: EventStore, Value: &s}
}

// checked is the finding of a spec in a run of a system, and the number of its checks.
func checked(t *testing.T, system lockstep.System, spec lockstep.Spec) (string, int) {
	t.Helper()
	r := enginetest.Explore(t,
		lockstep.Plan{System: system, Strategy: strategy.Walk{Request: 1, Steps: 1}, Spec: spec, Runs: 1})
	if f := r.First(); f != nil {
		return f.Finding.Text, r.Checked[0].N
	}
	return "", r.Checked[0].N
}

// The specs find members with different content at a revision, and members whose revision decreases.
func TestStores(t *testing.T) {
	for _, c := range []struct {
		name    string
		spec    lockstep.Spec
		events  enginetest.Prepared
		want    string
		checked int
	}{
		{"equal", Equal, enginetest.Prepared{store(1, Store{1, 5, 0, 7, unasked}), store(2, Store{1, 5, 0, 7, unasked}),
			store(2, Store{1, 6, 0, 8, unasked}), store(3, Store{1, 5, 3, 9, unasked})}, "", 1},
		{"different", Equal, enginetest.Prepared{store(1, Store{1, 5, 0, 7, unasked}),
			store(2, Store{1, 5, 0, 8, unasked})},
			"members 1 and 2 differ at revision 5: the hashes of the keys are 00000007 and 00000008", 1},
		{"compacted", Equal, enginetest.Prepared{store(1, Store{1, 5, 2, 7, unasked}),
			store(2, Store{1, 5, 2, 8, unasked})},
			"members 1 and 2 differ at revision 5, compacted up to 2: the hashes of the keys are 00000007 and 00000008",
			1},
		{"without keys", Equal, enginetest.Prepared{store(1, Store{1, 5, 2, 7, 0}), store(2, Store{1, 5, 2, 8, 0}),
			store(3, Store{1, 5, 2, 9, 0})}, "", 2},
		{"with and without keys", Equal, enginetest.Prepared{store(1, Store{1, 5, 2, 7, 0}),
			store(1, Store{2, 5, 2, 8, 1})},
			"member 1 held something else at revision 5, compacted up to 2 before: the numbers of keys are 0 and 1", 1},
		{"another one later", Equal, enginetest.Prepared{store(1, Store{1, 5, 0, 7, unasked}),
			store(1, Store{2, 5, 0, 8, unasked})},
			"member 1 held something else at revision 5 before: the hashes of the keys are 00000007 and 00000008", 1},
		{"forward", Forward, enginetest.Prepared{store(1, Store{1, 5, 0, 7, unasked}), store(1, Store{1, 5, 4, 7, unasked}),
			store(2, Store{1, 1, 0, 0, unasked}), store(1, Store{2, 3, 0, 7, unasked})}, "", 4},
		{"back", Forward, enginetest.Prepared{store(1, Store{2, 5, 0, 7, unasked}), store(1, Store{2, 4, 0, 7, unasked})},
			"member 1 was at revision 5, compacted up to 0, and is at revision 4, compacted up to 0", 2},
	} {
		if got, n := checked(t, c.events, c.spec); got != c.want || n != c.checked {
			t.Errorf("%s: %q, checked %d times, want %q, %d", c.name, got, n, c.want, c.checked)
		}
	}
}
