package browsertest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// serverRun makes a run of a server in time: heartbeats, log lines, a crash of node 2, and a finding about node 1.
func serverRun(steps int) *trace.Trace {
	t := &trace.Trace{Header: trace.Header{Target: "store", Nodes: 3}, Records: []trace.Record{{}}}
	for id := trace.ID(0); len(t.Records) < steps; {
		n := len(t.Records)
		r := trace.Record{Number: n, Now: trace.Time(n) * 1e6, Step: trace.Step{Kind: trace.Wait, For: 1}}
		switch {
		case n == 3:
			r.Step, r.Text = trace.Step{Kind: trace.Crash, Node: 2}, "2 crash"
		case n%2 == 0:
			id++
			r.Sent = []trace.Sent{{Message: trace.Message{ID: id, From: 1, To: 2, Type: "MsgHeartbeat"},
				Text: "1->2 MsgHeartbeat term=2"}}
			r.Logs = []trace.Log{{Source: trace.LogServer, Node: trace.Node(1 + n%3), Level: "info", At: r.Now,
				Text: fmt.Sprint("line ", n, strings.Repeat(" and more", 20))}}
		case id > 0:
			r.Step, r.Text = trace.Step{Kind: trace.Deliver, Msg: id}, "1->2 MsgHeartbeat term=2"
		}
		if n%10 == 0 {
			r.Events = []trace.Event{{Type: "store", Node: trace.Node(1 + n%3), Text: fmt.Sprint("revision ", n)}}
		}
		t.Records = append(t.Records, r)
	}
	last := &t.Records[len(t.Records)-1]
	last.Events = []trace.Event{{Type: "watched", Node: 1, Text: "all up to revision 107"}}
	last.Logs = []trace.Log{{Source: trace.LogServer, Node: 1, Level: "warn", At: last.Now, Text: "a slow disk"}}
	t.Outcome = trace.Outcome{Verdict: trace.Fail, Steps: len(t.Records) - 1, Finding: &trace.Finding{
		Property: "complete", Text: "revision 107 is missing", Nodes: trace.NodesOf(1), Step: len(t.Records) - 1}}
	return t
}

func serverPage(steps int) func(*bytes.Buffer) error {
	return func(b *bytes.Buffer) error {
		return report.Page(b, report.Views{Found: serverRun(steps)}, report.PageOptions{})
	}
}

// The timeline opens at the finding, without log lines; its boxes, its sums and its links show and hide rows.
func TestTimeline(t *testing.T) {
	b := open(t, 1440, 860, serverPage(400))
	shown := func(selector string) int {
		return eval[int](t, b, fmt.Sprintf(
			`[...document.querySelectorAll('.timeline tbody %s')].filter((r) => !r.hidden).length`, selector))
	}
	at := eval[bool](t, b, `(() => {
		const r = document.querySelector('.timeline tr.finding').getBoundingClientRect();
		const s = document.querySelector('.timeline .scroll').getBoundingClientRect();
		return r.top >= s.top && r.bottom <= s.bottom;
	})()`)
	if !at || shown("tr.finding") != 1 {
		t.Error("the timeline does not open at the finding")
	}
	if n := shown("tr.log"); n != 0 {
		t.Errorf("%d log lines are shown", n)
	}
	screenshot(t, b, "run-timeline.png")
	b.do(t, chromedp.Click(chromedp.CSS(".timeline tr.sum:not([hidden]) .logs")))
	if shown("tr.log") == 0 {
		t.Error("a click on a sum shows no log lines")
	}
	events := shown("tr.event")
	b.do(t, chromedp.Click(chromedp.CSS(`.timeline input.node[value="1"]`)))
	if n := shown("tr.event"); n >= events {
		t.Errorf("%d events are shown without node 1, and %d with it", n, events)
	}
	b.do(t, chromedp.Click(chromedp.CSS(`.timeline input.type[value="event"]`)))
	if n := shown("tr.event"); n != 0 {
		t.Errorf("%d events are shown without events", n)
	}
	eval[bool](t, b, `(location.hash = '#found-10', true)`)
	if n := eval[int](t, b, `[...document.querySelectorAll('#found-10')].filter((r) => !r.hidden).length`); n != 1 {
		t.Error("a link to a row does not show it")
	}
}

// mostElements is the number of elements with which a page opens in less than two seconds, on the slowest of our
// machines. The time itself depends on what else the machine does.
const mostElements = 100_000

// The page of a run of 10,000 steps with 5000 log lines, and of its shrunk form, has less than 5 MB and few enough
// elements. It opens, and the steps that are not drawn are a click away.
func TestLongTimelineOpens(t *testing.T) {
	size := 0
	b := open(t, 1440, 860, func(w *bytes.Buffer) error {
		err := report.Page(w, report.Views{Found: serverRun(10_000), Shrunk: serverRun(400)}, report.PageOptions{})
		size = w.Len()
		return err
	})
	loaded := eval[float64](t, b, `new Promise((done) => {
		const wait = () => {
			const n = performance.getEntriesByType('navigation')[0];
			n.loadEventEnd > 0 ? requestAnimationFrame(() => done(performance.now())) : setTimeout(wait, 5);
		};
		wait();
	})`)
	elements := eval[int](t, b, `document.querySelectorAll('*').length`)
	t.Logf("%d bytes, loaded after %.0f ms, %d elements", size, loaded, elements)
	if size > 5e6 {
		t.Errorf("the page has %d bytes, more than 5 MB", size)
	}
	crash := eval[bool](t, b, `(() => {
		document.querySelector('.views button[data-view=found]').click();
		const early = document.querySelector('section[data-view=found] .early');
		const lines = early.querySelector('pre');
		if (early.open || lines.checkVisibility()) return false;
		early.querySelector('summary').click();
		return early.open && lines.checkVisibility() && lines.textContent.includes('3  0.003 s  crash at node 2\n');
	})()`)
	if !crash {
		t.Error("an early step is not among the lines of text, or they are shown before a click")
	}
	if elements > mostElements {
		t.Errorf("the page has %d elements, allowed are %d", elements, mostElements)
	}
}
