package report_test

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// sample is a run with a bit of everything, in rounds or not.
func sample(inRounds bool) *trace.Trace {
	t := &trace.Trace{Header: trace.Header{Tool: "test", Target: "toy", Strategy: "walk", Scenario: "storm", Seed: 7, Run: 3, Nodes: 3,
		Options: map[string]string{"nodes": "3"}}}
	if inRounds {
		t.Header.Rounds = []string{"Ask", "Answer"}
		t.Rounds = []trace.Round{{Number: 1, Phase: 1, Name: "Ask", Kernel: 7}, {Number: 2, Phase: 1, Name: "Answer", Kernel: 3},
			{Number: 3, Phase: 2, Name: "Ask", Kernel: 7}, {Number: 4, Phase: 2, Name: "Answer", Kernel: 7}}
	}
	msg := func(id trace.ID, from, to trace.Node, kind string, round int32) trace.Sent {
		m := trace.Message{ID: id, From: from, To: to, Type: kind, Tag: trace.Tag{Phase: 1, Round: round}}
		return trace.Sent{Message: m, Text: m.String() + " x=1"}
	}
	add := func(round int, r trace.Record) {
		r.Number = len(t.Records)
		if inRounds {
			r.Round = round
		}
		t.Records = append(t.Records, r)
	}
	add(0, trace.Record{Step: trace.Step{Kind: trace.Start}, States: []trace.State{{Node: 1, Text: "x=0"}, {Node: 2, Text: "x=0"}, {Node: 3, Text: "x=0"}}})
	add(1, trace.Record{Step: trace.Step{Kind: trace.Request, Node: 1, Request: 1}, Text: "client->1 put a", Sent: []trace.Sent{msg(1, 1, 2, "Ask", 0), msg(2, 1, 3, "Ask", 0)}})
	add(1, trace.Record{Step: trace.Step{Kind: trace.Deliver, Msg: 1}, Text: "1->2 Ask x=1", States: []trace.State{{Node: 2, Text: "x=1"}}, Sent: []trace.Sent{msg(3, 2, 1, "Answer", 1)}})
	add(2, trace.Record{Step: trace.Step{Kind: trace.Drop, Msg: 2}, Text: "1->3 Ask x=1"})
	add(2, trace.Record{Step: trace.Step{Kind: trace.Replace, Msg: 3}, Body: "x=9", Text: "2->1 Answer x=9"})
	add(2, trace.Record{Step: trace.Step{Kind: trace.Deliver, Msg: 3}, Text: "2->1 Answer x=9", States: []trace.State{{Node: 1, Text: "x=9"}},
		Events: []trace.Event{{Type: "answer", Node: 1, Text: "put a done"}}})
	add(3, trace.Record{Step: trace.Step{Kind: trace.Crash, Node: 3}, Text: "3 crash", States: []trace.State{{Node: 3, Text: "down"}}})
	add(3, trace.Record{Step: trace.Step{Kind: trace.Cut, From: 1, To: 2}, Text: "cut 1 <-> 2"})
	add(4, trace.Record{Step: trace.Step{Kind: trace.Alarm, Node: 2}, Text: "2 alarm", States: []trace.State{{Node: 2, Text: "x=2"}},
		Events: []trace.Event{{Type: "decided", Node: 2, Text: "2"}}})
	t.Outcome = trace.Outcome{Verdict: trace.Fail, Steps: len(t.Records) - 1,
		Finding: &trace.Finding{Property: "agreement", Text: "node 2 decided 2, node 1 had 9", Nodes: 3, Values: []string{"2", "9"}, Step: len(t.Records) - 1}}
	return t
}

// hostile is the sample with a text wherever a text can be.
func hostile(inRounds bool, text string) *trace.Trace {
	t := sample(inRounds)
	h := &t.Header
	h.Target, h.Strategy, h.Scenario, h.Shrunk, h.Tool = text, text, text, text, text
	h.Options = map[string]string{text: text}
	h.Drawn = map[string]string{text: text}
	for i := range t.Rounds {
		t.Rounds[i].Name = text
	}
	for i := range t.Records {
		r := &t.Records[i]
		r.Text, r.Body = text, text
		for j := range r.Sent {
			r.Sent[j].Text, r.Sent[j].Type = text, text
		}
		for j := range r.Events {
			r.Events[j].Text, r.Events[j].Type = text, text
		}
		for j := range r.States {
			r.States[j].Text = text
		}
	}
	f := t.Outcome.Finding
	f.Property, f.Text, f.Stack, f.Values = text, text, text, []string{text}
	t.Outcome.Reason = text
	return t
}

// campaignWith is a campaign with a text wherever a text can be.
func campaignWith(text string) *report.Campaign {
	first := 4
	return &report.Campaign{
		Target: text, Options: map[string]string{text: text}, Strategy: text, Scenario: text, Seed: 7, Runs: 1000, Findings: 5, FirstRun: &first,
		Finding: &report.Problem{Property: text, Text: text}, Trace: text, Traces: []string{text}, Verdict: trace.Fail,
		Verdicts: map[string]int{"fail": 5, "pass": 990, "unknown": 5}, Reasons: map[string]int{text: 5}, Shrunk: text,
		Guarantee: report.Promise{Text: text, PerRun: 0.001, AllRuns: 0.63, RunsFor95: 2995, Space: text, Assumes: []string{text}},
		Judged:    map[string]int{text: 10, "never " + text: 0, "uncounted " + text: -1}, Effects: []report.Effect{{Name: text, N: 1}, {Name: text + "2"}},
		ElapsedMS: 1234, RunsPerS: 810.4, StepsPerS: 40000, Steps: 49000, Messages: 12000, Digest: text, Again: text, Replay: text,
		Groups:   []report.Group{{Property: text, Shape: text, Findings: 4, First: 4, Text: text, Trace: text}, {Property: text, Shape: "other", Findings: 1, First: 90, Text: text}},
		Curve:    []report.Sample{{Runs: 500, ElapsedMS: 600, States: 90, Schedules: 400, Findings: 2}, {Runs: 1000, ElapsedMS: 1234, States: 130, Schedules: 700, Findings: 5}},
		Coverage: []report.Covered{{Name: text, Seen: 3, Of: 4}},
		Compared: []report.Compared{{Strategy: text, Repeats: 10, Found: 9, Median: 100, Lower: 20, Upper: 900}},
		Closure:  []report.LateCount{{Type: text, Delivered: 10, Late: 2, Changed: 1}},
	}
}

// sampleCampaign is a campaign as it comes out of the command line.
func sampleCampaign() *report.Campaign {
	first := 238
	return &report.Campaign{
		Target: "smr-bug", Options: map[string]string{"nodes": "3"}, Strategy: "uniform:period=4,isolations=4,rounds=16", Seed: 1,
		Runs: 3000, Findings: 22, FirstRun: &first, Finding: &report.Problem{Property: "prefix", Text: "node 1 outputs ad, but node 2 had output c"},
		Trace: "lockstep-out/prefix-seed1-run238.trace", Verdict: trace.Fail, Verdicts: map[string]int{"fail": 22, "pass": 2978},
		Guarantee: report.Promise{Text: "one run hits a given 4-periodic uniform execution with probability at least 7.05e-06", PerRun: 7.05e-06,
			AllRuns: 0.0209, RunsFor95: 425108, Space: "141905", Assumes: []string{"messages are lost as the rounds say; nothing else is random"}},
		Judged: map[string]int{"prefix": 9120}, ElapsedMS: 490, RunsPerS: 6122, StepsPerS: 310204, Steps: 152000, Messages: 142000,
		Digest: "0123456789abcdef", Again: "lockstep run smr-bug --runs 3000 --keep-going --seed 1",
		Replay: "lockstep replay lockstep-out/prefix-seed1-run238.trace",
		Groups: []report.Group{{Property: "prefix", Shape: "4 phases: 2 output in phase 3, 1 output in phase 4", Findings: 3, First: 238,
			Text: "node 1 outputs ad, but node 2 had output c", Trace: "lockstep-out/prefix-seed1-run238.trace"}},
	}
}

// nasties are texts that must not break out of their place.
func nasties() []string {
	return []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</script><script>alert(1)</script>", "<!-- ", "]]>", "-->",
		"' onmouseover='alert(1)", "javascript:alert(1)", "${alert(1)}", "{{.}}", "&lt;b&gt;", "\x00\x01\x1b[31mred\x1b[0m", "a\r\nb\tc",
		"\xff\xfe invalid \xc3\x28", "\u2028\u2029\ufffe", "\u202ereversed\u2066", strings.Repeat("long ", 500), "a=1 b=<b> c=\"", "%0A::error::x",
		"line\n::error::injected", "",
	}
}

func name(i int, text string) string { return fmt.Sprintf("%d %.12q", i, text) }
