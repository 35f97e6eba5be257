package etcdserver

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/kit/watch"
)

// The spec finds a read that contradicts its revision, or one that is old, out of order, or limited wrongly. It
// reports nothing where the history is unknown.
func TestSnapshots(t *testing.T) {
	a2, b3, a5 := wrote(2, "a", "1"), wrote(3, "b", "2"), wrote(5, "a", "3")
	del4 := &watch.Wrote{Changes: []watch.Change{{Revision: 4, Key: "b", Deleted: true}}}
	past := []enginetest.Moment{at(1, a2), at(1, b3), at(1, del4), at(1, a5)}
	unknown := []enginetest.Moment{at(1, a2), at(1, b3), at(1, a5)} // revision 4 is unknown
	some := []enginetest.Moment{
		at(1, a2),
		at(1, &watch.Opened{Watch: 1, Key: "a"}),
		at(1, &watch.Delivered{Watch: 1, Changes: []watch.Change{{Revision: 3, Key: "a", Value: "2"}}}),
	}
	foundA2, foundB3, foundA5 := Found{"a", "1", 2, 2, 1}, Found{"b", "2", 3, 3, 1}, Found{"a", "3", 2, 5, 2}
	read := func(revision int64, found ...Found) Read {
		return Read{Began: 2 * time.Second, Revision: revision, From: "a", Found: found, Count: int64(len(found))}
	}
	with := func(r Read, change func(*Read)) Read { change(&r); return r }
	for _, c := range []struct {
		name string
		past []enginetest.Moment
		read Read
		want string
	}{
		{"so it was", past, read(3, foundA2, foundB3), ""},
		{"so it is", past, read(5, foundA5), ""},
		{"nothing was there", past, read(1), ""},
		{"old", past, with(read(4, foundA2), func(r *Read) { r.Fresh = true }), "revision 5 was acknowledged before"},
		{"old, and asked for before", past,
			with(read(4, foundA2), func(r *Read) { r.Fresh, r.Began = true, time.Second }), ""},
		{"another value", past, read(5, Found{"a", "7", 2, 5, 2}), "5: a=3 was not a=7@5"},
		{"deleted then", past, read(5, foundB3, foundA5), "it is not sorted as requested"},
		{"deleted", past, read(5, foundA5, foundB3), "4: b deleted was after b=2@3"},
		{"an old one", past, read(5, foundA2), "5: a=3 was after a=1@2"},
		{"of the future", past, read(3, foundA5, foundB3), "a=3@5 was not requested"},
		{"another key", past, with(read(3, foundA2, foundB3), func(r *Read) { r.To = "b" }), "b=2@3 was not requested"},
		{"up to a key", past, with(read(3, foundA2), func(r *Read) { r.To = "b" }), ""},
		{"missing", past, read(3, foundA2), "b=2@3 is missing"},
		{"perhaps deleted", unknown, read(5, foundA5), ""},
		{"perhaps not deleted", unknown, read(5, foundA5, foundB3), ""},
		{"a key of which nothing is known, at a revision that is whole", past, read(3, foundA2, foundB3,
			Found{"c", "9", 3, 3, 1}), "c=9@3 was put 0 to 0 times since revision 3, and is said to be version 1"},
		{"a key of which nothing is known", unknown, read(4, foundA2, foundB3, Found{"c", "9", 4, 4, 1}), ""},
		{"too many versions", past, read(5, Found{"a", "3", 2, 5, 3}),
			"a=3@5 was put 2 to 2 times since revision 2, and is said to be version 3"},
		{"too few versions", unknown, read(5, Found{"a", "3", 2, 5, 1}),
			"a=3@5 was put 2 to 3 times since revision 2, and is said to be version 1"},
		{"perhaps another version", unknown, read(5, Found{"a", "3", 2, 5, 3}, foundB3), ""},
		{"made before it was deleted", past, read(4, foundA2, Found{"b", "2", 2, 3, 1}),
			"4: b deleted was after b=2@3"},
		{"descending", past, with(read(3, foundB3, foundA2), func(r *Read) { r.Order.Down = true }), ""},
		{"by revision", past, with(read(3, foundB3, foundA2),
			func(r *Read) { r.Order.By = clientv3.SortByModRevision }), "it is not sorted as requested"},
		{"one of two", past, with(read(3, foundA2), func(r *Read) { r.Limit, r.Count, r.More = 1, 2, true }), ""},
		{"the wrong one of two", past, with(read(3, foundB3), func(r *Read) { r.Limit, r.Count, r.More = 1, 2, true }),
			"a=1@2 is missing"},
		{"the last of two", past, with(read(3, foundB3), func(r *Read) {
			r.Order.Down, r.Limit, r.Count, r.More = true,
				1, 2, true
		}), ""},
		{"too many", past, with(read(3, foundA2, foundB3), func(r *Read) { r.Limit = 1 }), "1 keys were wanted"},
		{"too few", past, with(read(3, foundA2), func(r *Read) { r.Limit, r.Count, r.More = 2, 2, true }),
			"the answer with limit 2 has 1 keys of 2, and more: true"},
		{"more, unsaid", past, with(read(3, foundA2), func(r *Read) { r.Limit, r.Count = 1, 2 }),
			"the answer with limit 1 has 1 keys of 2, and more: false"},
		{"before a change", past, with(read(4, foundA2), func(r *Read) { r.Some, r.Count = true, 0 }), ""},
		{"not before a change", past, with(read(4, foundB3), func(r *Read) { r.Some = true }),
			"4: b deleted was after b=2@3"},
		{"delivered by one watch", some, read(3, foundA2), "3: a=2 was after a=1@2"},
		{"delivered by one watch, and another key", some, read(3, Found{"a", "2", 2, 3, 2}, foundB3), ""},
	} {
		events := append(append([]enginetest.Moment{}, c.past...), at(3, &c.read))
		want := c.want
		if want != "" {
			want = "the read at member 1, " + c.read.String() + ", returned a wrong result: " + want
		}
		history{c.name, Snapshots, timed{len(events), events}, want, 1}.check(t)
	}
}

// The spec finds a client that gets space although the alarm is known, unless the alarm may have ended.
func TestFullRefuse(t *testing.T) {
	space := func(what string, began int) *Space { return &Space{what, time.Duration(began) * time.Second} }
	fill := func(began int, done bool) *Fill { return &Fill{"put", time.Duration(began) * time.Second, done} }
	const given = "there is no space since 2s at the latest, and member 1 served a put that was requested at 3s"
	for _, h := range []history{
		{"refused", FullRefuse, timed{2, []enginetest.Moment{at(2, space(Full, 1)), at(4, fill(3, false))}}, "", 1},
		{"given", FullRefuse, timed{2, []enginetest.Moment{at(2, space(Full, 1)), at(4, fill(3, true))}}, given, 1},
		{"asked before", FullRefuse, timed{2, []enginetest.Moment{at(2, space(Full, 1)), at(4, fill(2, true))}}, "", 0},
		{"never full", FullRefuse, timed{1, []enginetest.Moment{at(4, fill(2, true))}}, "", 0},
		{"being relieved", FullRefuse, timed{3, []enginetest.Moment{at(2, space(Full, 1)), at(3, space(Relieving, 0)),
			at(4, fill(3, true))}}, "", 0},
		{"perhaps relieved", FullRefuse, timed{4, []enginetest.Moment{at(2, space(Full, 1)), at(3, space(Relieving, 0)),
			at(5, space(Full, 4)), at(7, fill(6, true))}}, "", 0},
		{"relieved", FullRefuse, timed{5, []enginetest.Moment{at(2, space(Full, 1)), at(3, space(Relieving, 0)),
			at(4, space(Relieved, 0)), at(5, space(Full, 3)), at(7, fill(6, true))}}, "", 0},
		{"full again", FullRefuse, timed{5, []enginetest.Moment{at(0, space(Full, 0)), at(0, space(Relieving, 0)),
			at(0, space(Relieved, 0)), at(2, space(Full, 1)), at(4, fill(3, true))}}, given, 1},
	} {
		h.check(t)
	}
}

// The spec finds an alarm about a corrupt store.
func TestSound(t *testing.T) {
	for _, h := range []history{
		{"no space", Sound, timed{2, []enginetest.Moment{at(1, &Alarms{}), at(2, &Alarms{[]string{"NOSPACE"}})}}, "", 2},
		{"corrupt", Sound, timed{2, []enginetest.Moment{at(1, &Alarms{}),
			at(2, &Alarms{[]string{"NOSPACE", "CORRUPT"}})}}, "member 1 has the alarm that a store is corrupt", 2},
	} {
		h.check(t)
	}
}
