package watch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/kit/watch"
	"github.com/lockstep-go/lockstep/strategy"
)

// change reads a change: "5a=3", "5a" where a is deleted.
func change(t *testing.T, text string) (c watch.Change) {
	t.Helper()
	if _, err := fmt.Sscanf(text, "%d%1s=%s", &c.Revision, &c.Key, &c.Value); err == nil {
		return c
	}
	if _, err := fmt.Sscanf(text, "%d%1s", &c.Revision, &c.Key); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	c.Deleted = true
	return c
}

// events reads a history, a line for each event: "open 1 from 3 key a", "1: 3a=1 3b=1", "1 upto 5",
// "wrote 3a=1".
func events(t *testing.T, text string) (list enginetest.Prepared) {
	t.Helper()
	for line := range strings.SplitSeq(text, "; ") {
		var o watch.Opened
		var delivered watch.Delivered
		if n, _ := fmt.Sscanf(line, "open %d from %d key %s", &o.Watch, &o.From, &o.Key); n >= 2 {
			list = append(list, lockstep.Event{Node: 1, Type: watch.EventOpened, Value: &o})
			continue
		}
		if n, _ := fmt.Sscanf(line, "%d upto %d", &delivered.Watch, &delivered.Progress); n == 2 {
			list = append(list, lockstep.Event{Node: 1, Type: watch.EventDelivered, Value: &delivered})
			continue
		}
		watcher, rest, _ := strings.Cut(line, ": ")
		for part := range strings.FieldsSeq(rest) {
			delivered.Changes = append(delivered.Changes, change(t, part))
		}
		if watcher == "wrote" {
			list = append(list, lockstep.Event{Node: 2, Type: watch.EventWrote, Value: &watch.Wrote{Changes: delivered.Changes}})
			continue
		}
		if _, err := fmt.Sscan(watcher, &delivered.Watch); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, lockstep.Event{Node: 1, Type: watch.EventDelivered, Value: &delivered})
	}
	return list
}

// Each guarantee is found broken where it is, and nothing is found elsewhere.
func TestGuarantees(t *testing.T) {
	for _, c := range []struct{ history, want string }{
		{"open 1 from 2; 1: 2a=1; 1: 3a=2 4b=1; 1 upto 4; 1: 5a", ""},
		{"open 1 from 0; 1: 7a=1; 1: 8a=2 8b=2; open 2 from 8 key b; 2: 8b=2; wrote: 9a=3; 2 upto 9; 1: 9a=3", ""},
		{"open 1 from 9; 1 upto 4; 1: 9a=1", ""}, // asked for before it was there
		{"open 1 from 2 key a; wrote: 2a=1; wrote: 3a=2", ""},
		{"open 1 from 2; 1: 2a=1; open 2 from 2; 2: 2a=1; 2: 3a=2", ""}, // each on its own

		{"open 1 from 2; 1: 2a=1; 1: 3a=2; 1: 2b=1",
			"watch-ordered: watch 1: all keys from revision 2 on: it delivers 2: b=1 after revision 3"},
		{"open 1 from 2; 1: 2a=1; 1: 3a=2; 1: 2a=1",
			"watch-unique: watch 1: all keys from revision 2 on: it delivers 2: a=1 twice"},
		{"open 1 from 2; 1: 2a=1; 1: 2b=1",
			"watch-atomic: watch 1: all keys from revision 2 on: it delivers 2: b=1 when it had delivered its revision"},
		{"open 1 from 2; 1: 2a=1; 1: 3a=1; open 2 from 2; wrote: 4a=1 4b=2; 2: 2a=1 3a=1; 2: 4b=2; 2: 5a",
			"watch-atomic: watch 2: all keys from revision 2 on: of revision 4 it delivers 1 of 2 changes"},
		{"open 1 from 2; 1: 2a=1 2b=1; wrote: 2a=1",
			"one-history: revision 2 changed 1 keys according to member 2, and 2 according to member 1"},
		{"open 1 from 4; 1: 3a=1",
			"watch-resumable: watch 1: all keys from revision 4 on: it delivers 3: a=1, which is before"},
		{"open 1 from 4; 1: 5a=1", "watch-resumable: watch 1: all keys from revision 4 on: it begins with revision 5"},
		{"open 1 from 4 key a; wrote: 4a; 1: 5a=1",
			"watch-resumable: watch 1: key a from revision 4 on: it begins with revision 5 and does not deliver 4: a deleted"},
		{"open 1 from 4; 1: 4a=1; 1: 6a=2",
			"watch-reliable: watch 1: all keys from revision 4 on: revision 4 is followed by 6"},
		{"open 1 from 0 key a; 1: 4a=1; 1: 6a=2; wrote: 5a=9",
			"watch-reliable: watch 1: key a from now on: it does not deliver 5: a=9"},
		{"open 1 from 4; 1: 4a=1; 1 upto 5",
			"watch-bookmarkable: watch 1: all keys from revision 4 on: it announces that all up to revision 5 was delivered, " +
				"but nothing after 4 was"},
		{"open 1 from 4 key a; 1: 4a=1; 1 upto 6; 1: 5a=2",
			"watch-bookmarkable: watch 1: key a from revision 4 on: it delivers 5: a=2 when it had announced that all up to " +
				"revision 6 was delivered"},
		{"open 1 from 4 key a; 1 upto 6; wrote: 5a=2",
			"watch-bookmarkable: watch 1: key a from revision 4 on: it announces that all up to revision 6 was delivered, " +
				"but does not deliver 5: a=2"},
		{"open 1 from 4; wrote: 4a=1; 1: 4a=2",
			"one-history: member 2 delivered revision 4: a=1, and member 1 delivered 4: a=2"},
		{"open 1 from 4; wrote: 4a=1; 1: 4b=1",
			"one-history: member 2 delivered revision 4: a=1, and member 1 delivered 4: b=1"},
	} {
		r := enginetest.Explore(t, lockstep.Plan{System: events(t, c.history), Strategy: strategy.Walk{Request: 1, Steps: 1},
			Spec: watch.Guarantees, Runs: 1})
		got := ""
		if f := r.First(); f != nil {
			got = f.Finding.Property + ": " + f.Finding.Text
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.history, got, c.want)
		}
	}
}

// In a history without a bug each guarantee has been put to the test.
func TestChecked(t *testing.T) {
	r := enginetest.Explore(t, lockstep.Plan{Strategy: strategy.Walk{Request: 1, Steps: 1}, Spec: watch.Guarantees,
		Runs: 1,
		System: events(t,
			"open 1 from 2; 1: 2a=1 3a=2; 1 upto 3; wrote: 4a=1 4b=1; 1: 4a=1 4b=1; open 2 from 3 key a; 2: 3a=2; 2 upto 4")})
	if f := r.First(); f == nil || f.Finding.Property != "watch-bookmarkable" {
		t.Fatal("watch 2 did not deliver revision 4, and nothing was found")
	}
	for _, j := range r.Checked {
		if j.N == 0 {
			t.Errorf("%s was never checked", j.Name)
		}
	}
}

func ExampleDelivered() {
	fmt.Println(&watch.Opened{Watch: 1, From: 4})
	fmt.Println(&watch.Opened{Watch: 2, Key: "a"})
	fmt.Println(&watch.Delivered{Watch: 1, Changes: []watch.Change{{Revision: 4, Key: "a", Value: "7"},
		{Revision: 5, Key: "a", Deleted: true}}})
	fmt.Println(&watch.Delivered{Watch: 2, Progress: 5})
	fmt.Println(&watch.Wrote{Changes: []watch.Change{{Revision: 4, Key: "a", Value: "7"}}})
	// Output:
	// watch 1: all keys from revision 4 on
	// watch 2: key a from now on
	// watch 1: 4: a=7, 5: a deleted
	// watch 2: all up to revision 5
	// 4: a=7
}
