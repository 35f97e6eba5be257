package report_test

import (
	"github.com/lockstep-go/lockstep/trace"
)

// sample returns a run with every kind of step, in rounds or not.
func sample(inRounds bool) *trace.Trace {
	t := &trace.Trace{
		Header: trace.Header{
			Tool:     "test",
			Target:   "toy",
			Strategy: "walk",
			Scenario: "storm",
			Seed:     7,
			Run:      3,
			Nodes:    3,
			Options:  map[string]string{"nodes": "3"},
		},
	}
	if inRounds {
		t.Header.Rounds = []string{"Ask", "Answer"}
		t.Rounds = []trace.Round{
			{Number: 1, Phase: 1, Name: "Ask", Kernel: 7},
			{Number: 2, Phase: 1, Name: "Answer", Kernel: 3},
			{Number: 3, Phase: 2, Name: "Ask", Kernel: 7},
			{Number: 4, Phase: 2, Name: "Answer", Kernel: 7},
		}
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
	add(
		0,
		trace.Record{
			Step:   trace.Step{Kind: trace.Start},
			States: []trace.State{{Node: 1, Text: "x=0"}, {Node: 2, Text: "x=0"}, {Node: 3, Text: "x=0"}},
		},
	)
	add(
		1,
		trace.Record{
			Step: trace.Step{Kind: trace.Request, Node: 1, Request: 1},
			Text: "client->1 put a",
			Sent: []trace.Sent{msg(1, 1, 2, "Ask", 0), msg(2, 1, 3, "Ask", 0)},
		},
	)
	add(
		1,
		trace.Record{
			Step:   trace.Step{Kind: trace.Deliver, Msg: 1},
			Text:   "1->2 Ask x=1",
			States: []trace.State{{Node: 2, Text: "x=1"}},
			Sent:   []trace.Sent{msg(3, 2, 1, "Answer", 1)},
		},
	)
	add(2, trace.Record{Step: trace.Step{Kind: trace.Drop, Msg: 2}, Text: "1->3 Ask x=1"})
	add(2, trace.Record{Step: trace.Step{Kind: trace.Replace, Msg: 3}, Body: "x=9", Text: "2->1 Answer x=9"})
	add(
		2,
		trace.Record{
			Step:   trace.Step{Kind: trace.Deliver, Msg: 3},
			Text:   "2->1 Answer x=9",
			States: []trace.State{{Node: 1, Text: "x=9"}},
			Events: []trace.Event{{Type: "answer", Node: 1, Text: "put a done"}},
		},
	)
	add(
		3,
		trace.Record{
			Step:   trace.Step{Kind: trace.Crash, Node: 3},
			Text:   "3 crash",
			States: []trace.State{{Node: 3, Text: "down"}},
		},
	)
	add(3, trace.Record{Step: trace.Step{Kind: trace.Cut, From: 1, To: 2}, Text: "cut 1 <-> 2"})
	add(
		4,
		trace.Record{
			Step:   trace.Step{Kind: trace.Timer, Node: 2},
			Text:   "2 timer",
			States: []trace.State{{Node: 2, Text: "x=2"}},
			Events: []trace.Event{{Type: "decided", Node: 2, Text: "2"}},
		},
	)
	t.Outcome = trace.Outcome{Verdict: trace.Fail, Steps: len(t.Records) - 1,
		Finding: &trace.Finding{
			Property: "agreement",
			Text:     "node 2 decided 2, node 1 had 9",
			Nodes:    3,
			Values:   []string{"2", "9"},
			Step:     len(t.Records) - 1,
		}}
	return t
}

// hostile returns the sample with a text in every text field.
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
