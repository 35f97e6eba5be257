package etcdserver

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// A draft has the operations of clients and of the operator, kills and restarts, in the order of the run and with its
// pauses. It says what a script cannot do.
func TestScript(t *testing.T) {
	const ms = 1_000_000
	run := &trace.Trace{Header: trace.Header{Target: "etcdserver", Nodes: 2, Options: map[string]string{"snapshots": "5"}},
		Records: []trace.Record{{}}}
	add := func(r trace.Record) {
		r.Number = len(run.Records)
		run.Records = append(run.Records, r)
	}
	add(trace.Record{Step: trace.Step{Kind: trace.Request, Node: 1, Request: 1}, Now: 100 * ms,
		Events: []trace.Event{{Type: spec.EventCall, Text: "c1 put a=3"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Now: 110 * ms,
		Events: []trace.Event{{Type: spec.EventReturn, Node: 1, Text: "c1 is 3"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Request, Node: 2, Request: 1}, Now: 400 * ms,
		Events: []trace.Event{{Type: spec.EventCall, Text: "c2 delete a"}},
		Logs: []trace.Log{
			{Source: trace.LogOperator, Node: 2, At: 400 * ms, Text: "Compact up to revision 8, waiting until it is done -> ok"},
			{Source: trace.LogClient, Node: 1, At: 400 * ms,
				Text: `Watch asks for a watch of all keys from "\x00" on from revision 3 on`},
			{Source: trace.LogServer, Node: 1, At: 400 * ms, Text: "Compact up to revision 9"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Crash, Node: 2}, Now: 410 * ms,
		Events: []trace.Event{{Type: "power-failure", Node: 2, Text: "1 write lost"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Restart, Node: 2}, Now: 420 * ms})
	run.Outcome.Finding = &trace.Finding{Property: "p", Text: "broken"}
	script := Script(run)
	last := 0
	for _, want := range []string{
		"--initial-cluster m1=http://127.0.0.1:12380,m2=http://127.0.0.1:22380 --snapshot-count=5",
		"start 1\nstart 2\n",
		"ctl 1 put a 3 # c1\nsleep 0.30\n",
		"ctl 2 del a & # c2, is not answered\n",
		"ctl 2 compact 8 --physical\nctl 1 watch --prefix '' --rev=3 &\n",
		"kill -9 \"$(cat member2.pid)\"\n# the kill above is a power failure, which a script cannot cause: 1 write lost\n",
		"start 2\n# expected: p: broken\nwait\n",
	} {
		at := strings.Index(script[last:], want)
		if at < 0 {
			t.Fatalf("no %q after byte %d in\n%s", want, last, script)
		}
		last += at
	}
}
