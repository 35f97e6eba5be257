package report_test

import (
	"bytes"
	"fmt"
	"slices"
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

// whole is a run in time with all kinds of rows: node 2 crashes and restarts, node 1 logs, an operator compacts, and a
// watch at node 1 misses revision 107. Node 3 does something that the finding does not depend on.
func whole() *trace.Trace {
	t := &trace.Trace{Header: trace.Header{Target: "store", Nodes: 3}, Records: []trace.Record{{}}}
	add := func(r trace.Record) {
		r.Number = len(t.Records)
		t.Records = append(t.Records, r)
	}
	const ms = 1e6
	for i := range 40 {
		add(trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Now: trace.Time(i) * ms})
	}
	add(trace.Record{Step: trace.Step{Kind: trace.Crash, Node: 2}, Now: 50 * ms,
		Events: []trace.Event{{Type: "power-failure", Node: 2, Text: "2 writes lost"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Restart, Node: 2}, Now: 60 * ms,
		Events: []trace.Event{{Type: "reconfigured", Node: 2, Text: "v1.1.0"}},
		Logs: []trace.Log{{Source: trace.LogServer, Node: 2, Level: "warn", At: 55 * ms, Text: "wal is torn"},
			{Source: trace.LogRole, Node: 2, At: 58 * ms, Text: "follower"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Request, Node: 1, Request: 1}, Now: 70 * ms,
		Text: "client->1 compact (1)",
		Logs: []trace.Log{{Source: trace.LogOperator, Node: 1, At: 70 * ms, Text: "Compact up to revision 107 -> ok"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Now: 90 * ms,
		Events: []trace.Event{{Type: "store", Node: 3, Text: "revision 9"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Now: 95 * ms,
		Events: []trace.Event{{Type: "store", Node: 3, Text: "revision 9"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Now: 100 * ms,
		Events: []trace.Event{{Type: "watched", Node: 1, Text: "all up to revision 107"}}})
	t.Outcome = trace.Outcome{Verdict: trace.Fail, Steps: len(t.Records) - 1, Finding: &trace.Finding{
		Property: "complete", Text: "revision 107 is missing", Nodes: trace.NodesOf(1), Step: len(t.Records) - 1}}
	return t
}

// The console prints the timeline without log lines, marks what mentions a value of the finding, and counts the rows on
// which the finding does not depend.
func TestTimelineOnTheConsole(t *testing.T) {
	var b strings.Builder
	if err := report.Grid(&b, whole(), report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"0.070 s ! operator node 1  Compact up to revision 107 -> ok\n",
		"... 6 rows on which the finding does not depend\n",
		"0.100 s * event    node 1  watched all up to revision 107\n",
		"0.100 s * finding          violates complete: revision 107 is missing\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "wal is torn") || strings.Contains(b.String(), "revision 9") {
		t.Error(b.String())
	}
	b.Reset()
	if err := report.Grid(&b, whole(), report.Options{Steps: true}); err != nil || !strings.Contains(b.String(), "wait") {
		t.Error(err, b.String())
	}
}

// A passing run shows everything: no row is aside.
func TestTimelineOfPassingRun(t *testing.T) {
	run := whole()
	run.Outcome = trace.Outcome{Verdict: trace.Pass, Steps: len(run.Records) - 1}
	var b strings.Builder
	if err := report.Grid(&b, run, report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fault    node 2  crash at node 2", "fault    node 2  power-failure 2 writes lost",
		"fault    node 2  reconfigured v1.1.0",
		"1 line logged", "role     node 2  is follower", "store revision 9", "1 event as before"} {
		if strings.Count(b.String(), want) != 1 {
			t.Errorf("%q is there %d times in\n%s", want, strings.Count(b.String(), want), b.String())
		}
	}
}

// The page has the rows of all types with their nodes, hidden or not, and log lines after the sum that counts them.
func TestTimelineOnThePage(t *testing.T) {
	var b bytes.Buffer
	if err := report.Page(&b, report.Views{Found: whole()}, report.PageOptions{Note: "no lock-step form"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`data-type="log" data-node="2" class="log aside"`, "WARN wal is torn", `value="fault" checked`, `value="log"> log`,
		`class="node" value="2" checked`, `class="operator mentions"`, `aria-expanded="false">1 logged`,
		`<tr id="found-46" data-type="event" data-node="1" class="event about mentions"`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(b.String(), "no lock-step form") {
		t.Error("the page of a run in time says that it has no rounds")
	}
}

// Markdown is for bug reports: it has what the finding depends on, and text that is markup is escaped.
func TestMarkdown(t *testing.T) {
	run := whole()
	run.Records[43].Logs[0].Text = "Compact <b>up | to* revision 107"
	var b strings.Builder
	why := []string{"it passes without the crash"}
	if err := report.Markdown(&b, run, report.PageOptions{Why: why, Replay: "lockstep replay x.trace"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## complete\n", "- it passes without the crash\n", "    lockstep replay x.trace\n",
		`| 0.070 s | 1 | operator | Compact &lt;b>up \| to\* revision 107 |`,
		"| 0.100 s | | **finding** | **violates complete: revision 107 is missing** |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// The page of a run of 10,000 steps with 5000 lines of logs stays below 5 MB.
func TestPageOfLongRun(t *testing.T) {
	run := whole()
	first, last := run.Records[:len(run.Records)-1], run.Records[len(run.Records)-1]
	run.Records = slices.Clone(first)
	id := trace.ID(0)
	for len(run.Records) < 10_000 {
		n := len(run.Records)
		r := trace.Record{Number: n, Now: 96e6, Step: trace.Step{Kind: trace.Wait, For: 1}}
		if n%2 == 0 {
			id++
			r.Sent = []trace.Sent{{Message: trace.Message{ID: id, From: 1, To: 2, Type: "MsgHeartbeat"},
				Text: "1->2 MsgHeartbeat " + strings.Repeat("x", 40)}}
			r.Logs = []trace.Log{{Source: trace.LogServer, Node: 1, Level: "info", Text: strings.Repeat("text ", 40)}}
		} else if id > 0 {
			r.Step = trace.Step{Kind: trace.Deliver, Msg: id}
			r.Text = "1->2 MsgHeartbeat " + strings.Repeat("x", 40)
		}
		if n%10 == 0 {
			r.Events = []trace.Event{{Type: "store", Node: 2, Text: fmt.Sprint("revision ", n)}}
		}
		run.Records = append(run.Records, r)
	}
	last.Number = len(run.Records)
	run.Records = append(run.Records, last)
	run.Outcome.Steps, run.Outcome.Finding.Step = last.Number, last.Number
	var b bytes.Buffer
	if err := report.Page(&b, report.Views{Found: run}, report.PageOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d steps, %d bytes", last.Number, b.Len())
	if b.Len() > 5e6 {
		t.Errorf("the page has %d bytes, more than 5 MB", b.Len())
	}
}

// Two runs in time have one shape if their findings differ in numbers only; the events of short runs count instead.
func TestShapeOfTimedRuns(t *testing.T) {
	other := whole()
	other.Records[46].Events = append(other.Records[46].Events, trace.Event{Type: "store", Node: 2, Text: "revision 8"})
	other.Outcome.Finding.Text = "revision 93 is missing"
	if a, b := report.Shape(whole()), report.Shape(other); a != b || a != "revision # is missing" {
		t.Errorf("%q, %q", a, b)
	}
	other.Outcome.Finding.Text = "revision 93 is there twice"
	if a, b := report.Shape(whole()), report.Shape(other); a == b {
		t.Errorf("%q of two different findings", a)
	}
	short := whole()
	short.Records = slices.Concat(short.Records[:1], short.Records[42:])
	if a := report.Shape(short); a != "1 reconfigured, 2 store, 1 watched" {
		t.Errorf("%q of a short run", a)
	}
}

// The values that a finding is about stand in a table of nodes and times, with crashes and power failures between them.
// What repeats, and events of other types, are left out.
func TestValues(t *testing.T) {
	run := whole()
	for i, text := range []string{"all up to revision 105", "all up to revision 105", "all up to revision 106"} {
		run.Records[10+i].Events = []trace.Event{{Type: "watched", Node: 1, Text: text}}
	}
	var b strings.Builder
	if err := report.Markdown(&b, run, report.PageOptions{}); err != nil {
		t.Fatal(err)
	}
	want := `What the finding is about, by node: watched.

| time | node 1 | node 2 | node 3 |
| --- | --- | --- | --- |
| 0.009 s | all up to revision 105 |  |  |
| 0.011 s | all up to revision 106 |  |  |
| 0.050 s |  | *crash; the power failure takes 2 writes lost* |  |
| 0.060 s |  | *restart* |  |
| 0.100 s | **all up to revision 107** |  |  |

| time | node | type | what |
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("no\n%s\nin\n%s", want, b.String())
	}
	var page bytes.Buffer
	if err := report.Page(&page, report.Views{Found: run}, report.PageOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<details class="table values" open>`, `<td class="mentions">all up to revision 107</td>`,
		`<td class="fault">crash; the power failure takes 2 writes lost</td>`, `<a href="#found-46">0.100 s</a>`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// The values of operations are by client.
func TestValuesOfClients(t *testing.T) {
	run := whole()
	for i, e := range []trace.Event{{Type: "call", Text: "c1 put a=3"}, {Type: "return", Node: 1, Text: "c1 is 3"},
		{Type: "return", Node: 2, Text: "c2 is 0"}} {
		run.Records[10+i].Events = []trace.Event{e}
	}
	run.Outcome.Finding.About, run.Outcome.Finding.Nodes = []int{11, 12}, 0
	var b strings.Builder
	if err := report.Markdown(&b, run, report.PageOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "by client: return.\n\n| time | c1 | c2 |\n| --- | --- | --- |\n" +
		"| 0.010 s | **is 3** |  |\n| 0.011 s |  | **is 0** |\n\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("no\n%s\nin\n%s", want, b.String())
	}
}

// A run that passes, and a finding about nothing that nodes reported, have no values.
func TestNoValues(t *testing.T) {
	passed, silent := whole(), whole()
	passed.Outcome = trace.Outcome{Verdict: trace.Pass, Steps: len(passed.Records) - 1}
	silent.Outcome.Finding.Step, silent.Outcome.Finding.Nodes = 20, 0
	for _, run := range []*trace.Trace{passed, silent} {
		var b strings.Builder
		if err := report.Markdown(&b, run, report.PageOptions{}); err != nil || strings.Contains(b.String(), "is about, by") {
			t.Error(err, b.String())
		}
	}
}

// A line that a server in a process logged is an event, and is folded as the lines of other servers are.
func TestLogsOfProcesses(t *testing.T) {
	run := whole()
	run.Records[45].Events = []trace.Event{{Type: "log", Node: 3, Text: "elects itself"}}
	var page bytes.Buffer
	if err := report.Page(&page, report.Views{Found: run}, report.PageOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), `<td>log</td><td>elects itself</td>`) {
		t.Error("the line is no row of the type log")
	}
	var b strings.Builder
	if err := report.Grid(&b, run, report.Options{}); err != nil || strings.Contains(b.String(), "elects itself") {
		t.Error(err, b.String())
	}
}

// The steps before those that are drawn are lines of text on the page.
func TestEarlySteps(t *testing.T) {
	var page bytes.Buffer
	if err := report.Page(&page, report.Views{Found: whole()}, report.PageOptions{MaxSteps: 4}); err != nil {
		t.Fatal(err)
	}
	_, early, _ := strings.Cut(page.String(), "<summary>The first 43 steps, one a line</summary><pre>")
	early, _, _ = strings.Cut(early, "</pre>")
	if n := strings.Count(early, "\n"); n != 43 {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{"0  start", "2  0.001 s  wait 1ns\n",
		"41  0.050 s  crash at node 2 · event at node 2: power-failure 2 writes lost\n"} {
		if !strings.Contains(early, want) {
			t.Errorf("no %q in\n%s", want, early)
		}
	}
	page.Reset()
	if err := report.Page(&page, report.Views{Found: whole()}, report.PageOptions{}); err != nil ||
		strings.Contains(page.String(), "one a line") {
		t.Error("all steps are drawn, and there are lines of text", err)
	}
}
