package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// A run in time has a timeline: a row with its time for each step with a choice or an observation, and sums of the
// messages between them.
func TestTimeline(t *testing.T) {
	for _, c := range []struct {
		waits, lines int
	}{{400, 5}, {20, 0}} {
		tr := &trace.Trace{Header: trace.Header{Target: "test", Nodes: 2}, Records: []trace.Record{{}}}
		add := func(r trace.Record) {
			r.Number = len(tr.Records)
			tr.Records = append(tr.Records, r)
		}
		for i := range c.waits {
			add(trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Text: "wait for 1", Now: trace.Time(i) * 1e6})
		}
		add(trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Now: 400e6, Sent: []trace.Sent{
			{Message: trace.Message{ID: 1, From: 1, To: 2, Type: "MsgHeartbeat"}},
			{Message: trace.Message{ID: 2, From: 1, To: 2, Type: "MsgHeartbeat"}},
			{Message: trace.Message{ID: 3, From: 1, To: 2, Type: "MsgApp"}}}})
		for id := trace.ID(1); id <= 3; id++ {
			add(trace.Record{Step: trace.Step{Kind: trace.Deliver, Msg: id}, Now: 400e6})
		}
		add(trace.Record{Step: trace.Step{Kind: trace.Request, Node: 1, Request: 7}, Text: "client->1 put", Now: 401e6,
			Events: []trace.Event{{Type: "call", Text: "c1 put"}}})
		add(
			trace.Record{
				Step:   trace.Step{Kind: trace.Wait, For: 1},
				Text:   "wait for 1",
				Now:    500e6,
				Events: []trace.Event{{Type: "stored", Node: 2}, {Type: "return", Text: "c1 is 7"}},
			},
		)
		add(trace.Record{Step: trace.Step{Kind: trace.Crash, Node: 2}, Text: "2 crash"})
		add(trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Text: "wait for 1"})
		tr.Outcome = trace.Outcome{
			Verdict: trace.Fail,
			Steps:   len(tr.Records) - 1,
			Finding: &trace.Finding{Property: "p", Text: "broken", Step: len(tr.Records) - 1},
		}
		var page bytes.Buffer
		if err := report.Page(&page, report.Views{Found: tr}, report.PageOptions{}); err != nil {
			t.Fatal(err)
		}
		_, short, _ := strings.Cut(page.String(), "Timeline: ")
		short, _, _ = strings.Cut(short, "</details>")
		if n := strings.Count(short, `<th scope="row">`); n != c.lines {
			t.Errorf("of a run of %d steps %d rows are printed, not %d", len(tr.Records)-1, n, c.lines)
		}
		for _, what := range []string{"c1 put", "stored", "crash at node 2", "violates p: broken",
			"2 MsgHeartbeat, 1 MsgApp", "0.401 s", "c1 is 7 (after 99ms)"} {
			if strings.Contains(short, what) != (c.lines > 0) {
				t.Errorf("of a run of %d steps: %q", len(tr.Records)-1, what)
			}
		}
	}
}
