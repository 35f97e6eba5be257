package shrink

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/trace"
)

const ms = trace.Time(1e6)

// said is a trace in which nodes report and log something, each in a record of its own. The finding is about the last
// record.
func said(lines ...trace.Record) *trace.Trace {
	t := &trace.Trace{Header: trace.Header{Nodes: 3}, Records: []trace.Record{{}}}
	for _, r := range lines {
		r.Number, r.Step.Kind = len(t.Records), trace.Wait
		t.Records = append(t.Records, r)
	}
	t.Outcome.Finding = &trace.Finding{Property: "p", Text: "value 4711 is missing", Step: len(t.Records) - 1}
	return t
}

func logged(at trace.Time, n trace.Node, level, text string) trace.Record {
	return trace.Record{Now: at, Logs: []trace.Log{{Source: trace.LogServer, Node: n, Level: level, At: at, Text: text}}}
}

func happens(at trace.Time, n trace.Node, kind, text string) trace.Record {
	return trace.Record{Now: at, Events: []trace.Event{{Type: kind, Node: n, Text: text}}}
}

// texts lists extras with the run that has them.
func texts(list []Extra) (all []string) {
	for _, e := range list {
		all = append(all, fmt.Sprintf("%d %v %s", e.Node, e.Failing, e.Text))
	}
	return all
}

// What only one run has comes in the order of its use: values of the finding, warnings and events, other lines.
// Numbers do not count, neither does what both runs did before they differ, and the settling stage is left out.
func TestExtras(t *testing.T) {
	settled := logged(90*ms, 1, "warn", "only while it settles")
	settled.Settle = true
	failing := said(logged(10*ms, 1, "info", "starts raft"), logged(20*ms, 1, "info", "applied index 7 in 12.5ms"),
		logged(30*ms, 2, "info", "reads a snapshot"), logged(40*ms, 2, "warn", "lost leader"),
		happens(50*ms, 3, "store", "has 4711"), logged(60*ms, 1, "info", "starts raft"), settled)
	passing := said(logged(10*ms, 1, "info", "starts raft"), logged(25*ms, 1, "info", "applied index 9 in 3ms"),
		happens(45*ms, 3, "role", "stays leader"))
	want := []string{"3 true store has 4711", "2 true lost leader", "3 false role stays leader", "2 true reads a snapshot"}
	if got := texts(extras(failing, passing, 15*ms)); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	if got := texts(extras(failing, passing, 35*ms)); slices.Contains(got, "2 true reads a snapshot") {
		t.Errorf("before the runs differ: %q", got)
	}
	few := texts(some(extras(failing, passing, 15*ms), 1))
	if want := []string{"2 true lost leader", "3 true store has 4711", "3 false role stays leader"}; !slices.Equal(few,
		want) {
		t.Errorf("one for each node and run: %q, not %q", few, want)
	}
}

// The event that the finding is about is paired with the one of the passing run: of the same node and type, or of the
// same client, and as many of them before. Equal events and those that the passing run lacks make no pair.
func TestSubjects(t *testing.T) {
	failing := said(happens(10*ms, 1, "return", "c1 is 3"), happens(20*ms, 2, "return", "c2 is 5"),
		happens(30*ms, 1, "return", "c1 is 0"))
	passing := said(happens(10*ms, 1, "return", "c1 is 3"), happens(15*ms, 1, "return", "c2 is 5"),
		happens(35*ms, 1, "return", "c1 is 4"))
	got := subjects(failing, passing)
	if len(got) != 1 || got[0].Failing.Text != "return c1 is 0" || got[0].Passing.Text != "return c1 is 4" ||
		got[0].Passing.At != 35*ms {
		t.Errorf("%+v", got)
	}
	failing.Outcome.Finding.About = []int{1, 2}
	if got := subjects(failing, passing); len(got) != 0 {
		t.Errorf("an equal event, and one of another node: %+v", got)
	}
}

// A passing run lacks what the finding is about, if it has fewer events of that type at that node. Values do not count.
func TestMissing(t *testing.T) {
	failing := said(happens(10*ms, 1, "store", "3"), happens(20*ms, 2, "store", "3"), happens(30*ms, 1, "store", "4"))
	for _, c := range []struct {
		passing *trace.Trace
		want    int
	}{
		{said(happens(10*ms, 1, "store", "8"), happens(10*ms, 1, "store", "9")), 0},
		{said(happens(10*ms, 1, "store", "3"), happens(10*ms, 2, "store", "3")), 1},
		{said(happens(10*ms, 1, "role", "leader")), 2},
	} {
		if got := missing(failing, c.passing); got != c.want {
			t.Errorf("%d, not %d", got, c.want)
		}
	}
}

// An act of a timetable goes by the step of its record. A delay is none, and neither is a step that the timetable does
// not have.
func TestOutOfTimetable(t *testing.T) {
	table := timetable{acts: []moment{{place: place{step: 2}}, {place: place{step: 5}}}}
	const head = 1 // the draws of the start come before the first step
	next, ok := element{actions: []int{5}}.outOfTimetable(table, head)
	if c := next.(timetable); !ok || len(c.acts) != 1 || c.acts[0].step != 2 {
		t.Errorf("%v %+v", ok, c.acts)
	}
	if len(table.acts) != 2 {
		t.Error("the timetable itself has changed")
	}
	if _, ok := (element{actions: []int{3}}).outOfTimetable(table, head); ok {
		t.Error("there is no such step")
	}
	if _, ok := (element{actions: []int{5}, prompt: &trace.Action{}}).outOfTimetable(table, head); ok {
		t.Error("a delay is no act")
	}
}
