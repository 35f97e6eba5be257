package spec_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

func event(kind string) lockstep.Event { return lockstep.Event{Type: kind, Node: 1} }

// atMost is the spec that an event happens at most so many times in a run.
func atMost(kind string, most int) lockstep.Spec {
	return spec.OnEvent("few "+kind, kind, func(seen *int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if *seen++; *seen > most {
			return &lockstep.Finding{Text: fmt.Sprintf("%d times %s", *seen, kind)}
		}
		return nil
	})
}

func TestOnEvent(t *testing.T) {
	a, b := event("a"), event("b")
	r := checker(t, script{{a, a}, {a, b}, {a, a, a}, {a, a}}, atMost("a", 2))
	if got := r.Verdicts; got[trace.Pass] != 3 || got[trace.Fail] != 1 {
		t.Fatalf("verdicts %v: a run must begin with an empty memory, and three of a are too many", got)
	}
	if f := r.First(); f.Run != 2 || f.Finding.String() != "few a: 3 times a" {
		t.Errorf("run %d: %s", f.Run, f.Finding)
	}
	if n := r.Checked[0].N; n != 8 {
		t.Errorf("checked %d events, want the 8 of the property's own type", n)
	}
}

func TestAll(t *testing.T) {
	a, b := event("a"), event("b")
	all := spec.All(atMost("a", 1), spec.All(), spec.All(atMost("b", 1), bare{}))
	if got, want := all.Properties(), []string{"few a", "few b", "bare"}; !reflect.DeepEqual(got, want) {
		t.Errorf("properties %q, want %q", got, want)
	}
	r := checker(t, script{{a, b}, {b, b, a, a}, {b, b}}, all)
	var found []string
	for _, f := range r.Failures {
		found = append(found, f.Finding.Property)
	}
	if want := []string{"few a", "few b"}; !reflect.DeepEqual(found, want) {
		t.Errorf("findings %q, want %q: of two in one step the first spec's counts", found, want)
	}
	if r.Checked[0].N == 0 || r.Checked[1].N == 0 || r.Checked[2].N != lockstep.NotCounted {
		t.Errorf("checked %v: a spec that does not count has nothing to say", r.Checked)
	}
}

// A property whose own event never happened was not exercised, whatever else happened; one that does not count its
// checks may have been.
func TestVacuity(t *testing.T) {
	r := checker(t, script{{event("a"), event("a")}}, spec.All(atMost("a", 5), atMost("b", 1), bare{}))
	if got, want := r.Unchecked(), []string{"few b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("never checked: %q, want %q", got, want)
	}
}

// A checker may return one finding repeatedly: each run gets its own copy.
func TestSharedFinding(t *testing.T) {
	shared := &lockstep.Finding{Text: "again"}
	s := spec.OnEvent("shared", "a",
		func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { return shared })
	r := checker(t, script{{event("a")}, {event("a")}}, spec.All(s))
	if len(r.Failures) != 2 || shared.Property != "" || shared.Step != 0 {
		t.Errorf("%d findings, and the shared one is %+v", len(r.Failures), shared)
	}
}

// bare is a spec that does not count its checks.
type bare struct{}

func (bare) Properties() []string                     { return []string{"bare"} }
func (bare) New(lockstep.Info) lockstep.Monitor       { return bare{} }
func (bare) Reset()                                   {}
func (bare) Step(*lockstep.Run) (f *lockstep.Finding) { return nil }
func (bare) End(*lockstep.Run) (f *lockstep.Finding)  { return nil }
func (bare) EventsOnly() bool                         { return false }
func (bare) Conclude(bool) (c lockstep.Conclusion)    { return c }

// last is a checker of the end.
type last struct{ seen string }

func (l *last) Reset()       { l.seen = "" }
func (l *last) Checked() int { return 1 }
func (l *last) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	l.seen += e.Type
	return nil
}
func (l *last) End(*lockstep.Run) *lockstep.Finding {
	if l.seen != "ab" {
		return &lockstep.Finding{Text: "saw " + l.seen}
	}
	return nil
}

func TestNew(t *testing.T) {
	r := checker(t, script{{event("a"), event("b")}, {event("b")}},
		spec.New("order", func(lockstep.Info) *last { return &last{} }))
	if f := r.First(); f == nil || f.Run != 1 || f.Finding.String() != "order: saw b" {
		t.Errorf("found %+v", r.Failures)
	}
}

func ExampleOnEvent() {
	// The state is the function's memory: here, the leader of each term.
	oneLeader := spec.OnEvent("one leader in a term", "leader",
		func(leaders *[10]lockstep.Node, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			term := e.Value.(int)
			if other := leaders[term]; other != 0 && other != e.Node {
				return &lockstep.Finding{Text: fmt.Sprintf("nodes %d and %d in term %d", other, e.Node, term)}
			}
			leaders[term] = e.Node
			return nil
		})
	r := checker(&testing.T{}, script{{
		{Type: "leader", Node: 1, Value: 3},
		{Type: "leader", Node: 2, Value: 4},
		{Type: "leader", Node: 1, Value: 4},
	}}, oneLeader)
	fmt.Println(r.First().Finding)
	// Output: one leader in a term: nodes 2 and 1 in term 4
}

func ExampleAll() {
	few := spec.All(atMost("crash", 1), atMost("election", 2))
	fmt.Println(few.Properties())
	// Output: [few crash few election]
}

func ExampleNew() {
	ordered := spec.New("order", func(lockstep.Info) *last { return &last{} })
	r := checker(&testing.T{}, script{{event("b"), event("a")}}, ordered)
	fmt.Println(r.First().Finding)
	// Output: order: saw ba
}

// vote is a decision at a place.
type vote struct{ place, value int }

func (v *vote) String() string { return fmt.Sprintf("%d at %d", v.value, v.place) }

var agreed = spec.Agreement("decided", func(v *vote) int { return v.place },
	func(a, b *vote) bool { return a.value == b.value })

func TestAgreement(t *testing.T) {
	decide := func(n lockstep.Node, place, value int) lockstep.Event {
		return lockstep.Event{Type: "decided", Node: n, Value: &vote{place, value}}
	}
	other := decide(2, 1, 9)
	other.Type = "guessed"
	r := checker(t, script{
		{decide(1, 1, 5), decide(2, 2, 6), decide(2, 1, 5), other},
		{decide(1, 1, 5), decide(2, 1, 6)},
		{decide(1, 1, 5), decide(1, 1, 6)},
	}, agreed)
	if len(r.Failures) != 2 || r.Checked[0].N != 3 {
		t.Fatalf("%d found, checked %v", len(r.Failures), r.Checked)
	}
	for i, want := range []string{
		"node 2 decided 6 at 1, and node 1 had decided 5 at 1",
		"node 1 decided 6 at 1, and node 1 had decided 5 at 1",
	} {
		if f := r.Failures[i].Finding; f.Text != want || f.Property != "agreement" {
			t.Errorf("%s: %s, want %s", f.Property, f.Text, want)
		}
	}
}

func ExampleAgreement() {
	fmt.Println(agreed.Properties())
	// Output: [agreement]
}
