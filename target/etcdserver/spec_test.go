package etcdserver

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/kit/watch"
	"github.com/lockstep-go/lockstep/strategy"
)

// timed is the events of a run, the first few with faults, the others after the faults have stopped.
type timed struct {
	first  int // the number of these events
	events []enginetest.Moment
}

// run is the finding of a spec, and the number of its checks.
func (s timed) run(t *testing.T, spec lockstep.Spec) (string, int) {
	t.Helper()
	r := enginetest.Explore(
		t,
		lockstep.Plan{
			System:   enginetest.Timed{Moments: s.events},
			Strategy: strategy.Walk{Wait: 1, Steps: s.first},
			Spec:     spec,
			Settle:   len(s.events) - s.first,
			Runs:     1,
		},
	)
	if f := r.First(); f != nil {
		return f.Finding.Text, r.Checked[0].N
	}
	return "", r.Checked[0].N
}

// at is the event of node 1 with a value, so many seconds after the beginning.
func at(seconds int, value any) enginetest.Moment {
	kinds := map[string]string{
		"*etcdserver.Store":  EventStore,
		"*etcdserver.Member": EventMember,
		"*etcdserver.Lease":  EventLease,
		"*etcdserver.Held":   EventHeld,
		"*etcdserver.Right":  EventRight,
		"*etcdserver.Access": EventAccess,
		"*watch.Wrote":       watch.EventWrote,
		"*watch.Delivered":   watch.EventDelivered,
		"*watch.Opened":      watch.EventOpened,
		"*etcdserver.Read":   EventRead,
		"*etcdserver.Space":  EventSpace,
		"*etcdserver.Fill":   EventFill,
		"*etcdserver.Alarms": EventAlarms,
	}
	return enginetest.Moment{
		At:     time.Duration(seconds) * time.Second,
		Events: []lockstep.Event{{Node: 1, Type: kinds[fmt.Sprintf("%T", value)], Value: value}},
	}
}

// history is a case for a spec.
type history struct {
	name    string
	spec    lockstep.Spec
	events  timed
	want    string
	checked int
}

func (h history) check(t *testing.T) {
	t.Helper()
	if got, n := h.events.run(t, h.spec); got != h.want || n != h.checked {
		t.Errorf("%s: %q, checked %d times, want %q, %d", h.name, got, n, h.want, h.checked)
	}
}

func wrote(revision int64, key, value string) *watch.Wrote {
	return &watch.Wrote{Changes: []watch.Change{{Revision: revision, Key: key, Value: value}}}
}

// The spec finds acknowledged writes that are missing after faults have stopped. It exempts nodes that are no
// members, that joined a moment ago, or that cannot know yet.
func TestDurable(t *testing.T) {
	store := func(revision int64) *Store { return &Store{Revision: revision} }
	member := func(number int, what string) *Member { return &Member{number, what} }
	for _, h := range []history{
		{"kept", Durable, timed{1, []enginetest.Moment{at(1, wrote(5, "a", "b")), at(2, store(4)), at(60, store(5))}},
			"", 1},
		{"lost", Durable, timed{1, []enginetest.Moment{at(1, wrote(5, "a", "b")), at(2, store(5)), at(62, store(4))}},
			"1m0s after the last fault member 1 is at revision 4; revision 5 was acknowledged", 1},
		{"too early", Durable, timed{1, []enginetest.Moment{at(1, wrote(5, "a", "b")), at(2, store(4)),
			at(12, store(4))}}, "", 0},
		{"not known yet", Durable, timed{1, []enginetest.Moment{at(1, wrote(4, "a", "b")), at(2, store(4)),
			at(60, wrote(5, "a", "c")), at(61, store(4))}}, "", 1},
		{"acknowledged after the member's report", Durable,
			timed{1, []enginetest.Moment{at(1, wrote(4, "a", "b")), at(2, store(4)), at(60, store(4)),
				at(61, wrote(5, "a", "c"))}}, "", 1},
		{"lost later", Durable, timed{1, []enginetest.Moment{at(1, store(4)), at(10, wrote(5, "a", "b")),
			at(61, store(4))}}, "51s after the last fault member 1 is at revision 4; revision 5 was acknowledged", 1},
		{"found in the end", Durable, timed{1, []enginetest.Moment{at(1, wrote(5, "a", "b")), at(2, store(4)),
			at(60, store(4)), at(65, store(5))}}, "", 1},
		{"removed", Durable, timed{2, []enginetest.Moment{at(1, wrote(5, "a", "b")), at(1, member(0, Leaving)),
			at(2, store(4)), at(60, store(4))}}, "", 0},
		{"not removed", Durable, timed{3, []enginetest.Moment{at(1, wrote(5, "a", "b")), at(1, member(0, Leaving)),
			at(1, member(0, Stayed)), at(2, store(4)), at(62, store(4))}},
			"1m0s after the last fault member 1 is at revision 4; revision 5 was acknowledged", 1},
		{"stopped", Durable, timed{2, []enginetest.Moment{at(1, wrote(5, "a", "b")), at(2, store(4)), at(60, store(4)),
			at(61, member(0, Stopped))}}, "", 0},
		{"a moment ago", Durable, timed{2, []enginetest.Moment{at(1, wrote(5, "a", "b")), at(1, member(0, Leaving)),
			at(2, member(3, Added)), at(60, member(3, Joined)), at(70, store(4))}}, "", 0},
		{"back", Durable, timed{3, []enginetest.Moment{at(1, wrote(5, "a", "b")), at(1, member(0, Leaving)),
			at(2, member(3, Added)), at(2, member(3, Joined)), at(3, member(0, Stayed)), at(62, store(4))}},
			"1m0s after the last fault member 1 is at revision 4; revision 5 was acknowledged", 1},
	} {
		h.check(t)
	}
}

// The specs find a member that stops without a request for its removal, and a write that happens twice.
func TestStayAndOnce(t *testing.T) {
	twice := &watch.Delivered{Changes: []watch.Change{{Revision: 7, Key: "a", Value: "1"}}}
	for _, h := range []history{
		{"removed", Stay, timed{2, []enginetest.Moment{at(1, &Member{2, Leaving}), at(2, &Member{2, Stopped})}}, "", 2},
		{"stopped", Stay, timed{2, []enginetest.Moment{at(1, &Member{2, Leaving}), at(2, &Member{3, Stopped})}},
			"member 1 stopped without a request for its removal", 2},
		{"once", Once, timed{3, []enginetest.Moment{at(1, wrote(7, "a", "1")), at(2, twice),
			at(3, wrote(8, "b", "1"))}}, "", 3},
		{"twice", Once, timed{2, []enginetest.Moment{at(1, wrote(6, "a", "1")), at(2, twice)}},
			"a was set to 1 at revision 6 and at 7, though one operation alone does", 2},
	} {
		h.check(t)
	}
}

// The specs find a key that is gone although its lease holds, and one that exists although it does not.
func TestLeaseSpecs(t *testing.T) {
	holds := func(from int) *Lease {
		return &Lease{"held1", Holds, time.Duration(from) * time.Second, 5 * time.Second}
	}
	says := func(what string) *Lease { return &Lease{Key: "held1", What: what} }
	read := func(from, to int, keys ...string) *Held {
		return &Held{time.Duration(from) * time.Second, time.Duration(to) * time.Second, keys}
	}
	prolonged := &Lease{What: Prolonged}
	for _, h := range []history{
		{"there", LeasesHold, timed{2, []enginetest.Moment{at(2, holds(1)), at(4, read(3, 4, "held1"))}}, "", 1},
		{"gone", LeasesHold, timed{2, []enginetest.Moment{at(2, holds(1)), at(4, read(3, 4))}},
			"the lease of held1 holds until 6s at least, and a read from 3s to 4s did not find its key", 1},
		{"gone though kept", LeasesHold,
			timed{3, []enginetest.Moment{at(2, holds(1)), at(5, holds(4)), at(8, read(7, 8))}},
			"the lease of held1 holds until 9s at least, and a read from 7s to 8s did not find its key", 1},
		{"too late", LeasesHold, timed{2, []enginetest.Moment{at(2, holds(1)), at(7, read(3, 6))}}, "", 0},
		{"too early", LeasesHold, timed{2, []enginetest.Moment{at(2, holds(1)), at(4, read(1, 4))}}, "", 0},
		{"ending", LeasesHold, timed{3, []enginetest.Moment{at(2, holds(1)), at(3, says(Ending)), at(5, read(4, 5))}},
			"", 0},
		{"no lease", LeasesHold, timed{2, []enginetest.Moment{at(2, holds(1)), at(4, says(Lost))}},
			"the lease of held1 holds until 6s at least, and at 4s member 1 says that there is none", 1},
		{"no lease any more", LeasesHold, timed{2, []enginetest.Moment{at(2, holds(1)), at(7, says(Lost))}}, "", 1},
		{"revoked", LeasesEnd, timed{3, []enginetest.Moment{at(2, holds(1)), at(3, says(Revoked)), at(5, read(4, 5))}},
			"", 1},
		{"revoked and there", LeasesEnd, timed{3, []enginetest.Moment{at(2, holds(1)), at(3, says(Revoked)),
			at(5, read(4, 5, "held1"))}}, "the lease of held1 was revoked before 3s, and a read at 4s found its key", 1},
		{"revoked meanwhile", LeasesEnd,
			timed{3, []enginetest.Moment{at(2, holds(1)), at(3, says(Revoked)), at(5, read(2, 5, "held1"))}}, "", 0},
		{"expired and there, with faults", LeasesEnd,
			timed{2, []enginetest.Moment{at(2, holds(1)), at(99, read(98, 99, "held1"))}}, "", 0},
		{"expired", LeasesEnd, timed{1, []enginetest.Moment{at(2, holds(1)), at(3, read(2, 3, "held1")),
			at(99, read(38, 99))}}, "", 1},
		{"expired and there", LeasesEnd,
			timed{1, []enginetest.Moment{at(2, holds(1)), at(3, read(2, 3, "held1")), at(99, read(38, 99, "held1"))}},
			"the lease of held1 was last kept alive before 2s, for 5s, and a read at 38s found its key", 1},
		{"prolonged", LeasesEnd, timed{1, []enginetest.Moment{at(2, holds(1)), at(3, read(2, 3, "held1")),
			at(20, prolonged), at(99, read(38, 99, "held1"))}}, "", 0},
	} {
		h.check(t)
	}
}

// The spec finds a user that is served without a right, at once or from the content of the store, unless the right
// may have been granted.
func TestPermitted(t *testing.T) {
	enabled := &Right{Area: authentication, Allow: true, How: Done}
	may := func(area int, allow bool, how string) *Right {
		return &Right{User: 1, Area: area, Allow: allow, How: how}
	}
	wants := func(user int, how string) *Access {
		return &Access{Number: 9, User: user, Area: 2, Write: true, How: how}
	}
	given := []enginetest.Moment{
		at(1, enabled),
		at(1, may(theRole, true, Asked)),
		at(1, may(theRole, true, Done)),
		at(1, may(2, true, Asked)),
		at(1, may(2, true, Done)),
	}
	taken := append(slices.Clone(given), at(2, may(2, false, Asked)), at(2, may(2, false, Done)))
	unknown := append(slices.Clone(given), at(2, may(2, true, Asked)), at(2, may(2, false, Asked)),
		at(2, may(2, false, Done)))
	with := func(before []enginetest.Moment, more ...enginetest.Moment) timed {
		all := append(slices.Clone(before), more...)
		return timed{len(all), all}
	}
	const served = "user 1 had no right to area 2 when that was asked for, and was served by member 1: user 1 " +
		"writes 9 to area 2: done"
	for _, h := range []history{
		{"before authentication", Permitted, with(nil, at(3, wants(0, Asked)), at(3, wants(0, Done))), "", 0},
		{"another user", Permitted, with(given, at(3, wants(0, Asked)), at(3, wants(0, Done))),
			"user 0 had no right to area 2 when that was asked for, and was served by member 1: user 0 writes 9 to area 2: done",
			1},
		{"given", Permitted, with(given, at(3, wants(1, Asked)), at(3, wants(1, Done))), "", 0},
		{"never given", Permitted, with(given[:3], at(3, wants(1, Asked)), at(3, wants(1, Done))), served, 1},
		{"taken", Permitted, with(taken, at(3, wants(1, Asked)), at(3, wants(1, Done))), served, 1},
		{"role taken", Permitted, with(given, at(2, may(theRole, false, Done)), at(3, wants(1, Asked)),
			at(3, wants(1, Done))), served, 1},
		{"refused", Permitted, with(taken, at(3, wants(1, Asked)), at(3, wants(1, Refused))), "", 1},
		{"asked before it was taken", Permitted, with(given, at(2, wants(1, Asked)), at(2, may(2, false, Done)),
			at(3, wants(1, Done))), "", 0},
		{"given meanwhile", Permitted, with(taken, at(3, wants(1, Asked)), at(3, may(2, true, Asked)),
			at(3, wants(1, Done))), "", 0},
		{"perhaps given", Permitted, with(unknown, at(3, wants(1, Asked)), at(3, wants(1, Done))), "", 0},
		{"in the store", Permitted, with(taken, at(3, wants(1, Asked)),
			at(4, &watch.Delivered{Changes: []watch.Change{{Revision: 5, Key: "area2", Value: "9"}}})),
			"user 1 had no right to area 2, and set it to 9 at revision 5", 1},
		{"in the store by right", Permitted, with(given, at(3, wants(1, Asked)),
			at(4, &watch.Delivered{Changes: []watch.Change{{Revision: 5, Key: "area2", Value: "9"}}})), "", 0},
	} {
		h.check(t)
	}
}

// Builds with failpoints parse their probabilities, and report invalid ones.
func TestFailpoints(t *testing.T) {
	if _, err := failpoints("any:0.1", nil); err == nil {
		t.Error("a build without failpoints has some")
	}
	all := []string{"raftBeforeSave"}
	shares, err := failpoints("raftBeforeSave:0.1,any:0.01", all)
	if err != nil || shares["raftBeforeSave"] != 100 || shares[anywhere] != 10 {
		t.Error(shares, err)
	}
	for _, text := range []string{"raftBeforeSave", "raftBeforeSave:0", "raftBeforeSave:2", "nowhere:0.1", "any:NaN",
		",", "any:0.0001"} {
		if shares, err := failpoints(text, all); err == nil {
			t.Errorf("%q became %v", text, shares)
		}
	}
}
