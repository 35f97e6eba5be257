package report_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/internal/pagetest"
	"github.com/lockstep-go/lockstep/trace"
)

// heights returns a run with tags that is not in rounds: node 2 is in the second height when the question of the first
// reaches it.
func heights() *trace.Trace {
	msg := func(id trace.ID, from, to trace.Node, kind string, phase, round int32) trace.Sent {
		m := trace.Message{ID: id, From: from, To: to, Type: kind, Tag: trace.Tag{Phase: phase, Round: round}}
		return trace.Sent{Message: m, Text: m.String()}
	}
	return &trace.Trace{
		Header: trace.Header{
			Target: "toy",
			Nodes:  2,
			Rounds: []string{"ask", "answer"},
			Phases: trace.Phases{Group: "height", Name: "round", Per: 10},
			Aside:  []string{"Have"},
		},
		Records: []trace.Record{
			{Step: trace.Step{Kind: trace.Start}, Sent: []trace.Sent{msg(1, 1, 2, "Ask", 1, 0)}},
			{
				Number: 1,
				Step:   trace.Step{Kind: trace.Wait, For: 1},
				Sent:   []trace.Sent{msg(2, 2, 1, "Answer", 11, 1), msg(3, 2, 1, "Have", 12, 1)},
			},
			{
				Number: 2,
				Step:   trace.Step{Kind: trace.Deliver, Msg: 1},
				Text:   "1->2 Ask",
				Events: []trace.Event{{Type: "heard", Node: 2, Text: "a question"}},
			},
			{
				Number: 3,
				Step:   trace.Step{Kind: trace.Deliver, Msg: 2},
				Text:   "2->1 Answer",
				States: []trace.State{{Node: 1, Text: "x=1"}},
			},
			{Number: 4, Step: trace.Step{Kind: trace.Deliver, Msg: 3}, Text: "2->1 Have"},
		},
		Outcome: trace.Outcome{Verdict: trace.Pass, Steps: 4},
	}
}

// The page also shows a run with tags, which is not in rounds, by the rounds of its protocol. Messages are in the round
// of their tag, late or not. The steps of a node are in the round that the node is in.
func TestPageByPhases(t *testing.T) {
	page := pagetest.Write(t,
		func(w io.Writer) error { return report.Page(w, report.Views{Found: heights()}, report.PageOptions{}) })
	for what, want := range map[string]int{
		`data-open="phases"`:                                1,
		`>by height and round</button>`:                     1,
		`y="15">height 1, round 0</text>`:                   1,
		`y="15">height 2, round 0</text>`:                   1,
		`height 2, round 1`:                                 0, // only the message aside has that tag
		"(late: node 2 was in height 2, round 0, answer)":   1,
		"2 heights, 2 rounds, 1 late":                       2, // above the picture and the table
		`data-name="height 2, round 0, answer"`:             1,
		`<title>2-&gt;1 Have`:                               1, // in the view by steps, not in the view by rounds
		`report what they have received (Have)`:             1,
		`<td>height 1, round 0, ask</td><td>deliver 1-&gt;`: 1,
	} {
		if got := occurrences(page, what); got != want {
			t.Errorf("%q occurs %d times, want %d", what, got, want)
		}
	}
	_, scripts := pagetest.Tags(page)
	var views []struct {
		ID      string
		Columns int
		Steps   []struct{ C int }
	}
	if err := json.Unmarshal([]byte(scripts[0]), &views); err != nil {
		t.Fatal(err)
	}
	v := views[1]
	if v.ID != "phases" || v.Columns != 3 || len(v.Steps) != 5 {
		t.Fatalf("%+v", v)
	}
	// The columns: start, the ask of height 1, the answer of height 2. A step of time is in the column of the most
	// advanced node. Node 1 gets the message aside in its first round.
	for i, column := range []int{0, 1, 1, 2, 1} {
		if v.Steps[i].C != column {
			t.Errorf("step %d is in column %d, want %d", i, v.Steps[i].C, column)
		}
	}
	if _, picture, _ := strings.Cut(page, `id="view-phases"`); !strings.Contains(picture, "heard a question") {
		t.Error("the event is missing")
	}
}

// A run with a lockstep form needs no view by phases.
func TestPageByPhasesOrForm(t *testing.T) {
	page := pagetest.Write(t, func(w io.Writer) error {
		return report.Page(w, report.Views{Found: heights(), Lockstep: sample(true)}, report.PageOptions{})
	})
	if strings.Contains(page, "view-phases") {
		t.Error("the run is shown by phases, too")
	}
}
