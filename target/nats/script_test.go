package nats

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// recorded is a trace with records, one after the other.
func recorded(options map[string]string, records ...trace.Record) *trace.Trace {
	t := &trace.Trace{Header: trace.Header{Target: "nats", Nodes: 2, Options: options}, Records: []trace.Record{{}}}
	for _, r := range records {
		r.Number = len(t.Records)
		t.Records = append(t.Records, r)
	}
	return t
}

// A draft has the operations of clients and of the operator, pauses, kills and restarts, in the order of the run and
// with its pauses. It says what a script cannot do.
func TestScript(t *testing.T) {
	const ms = 1_000_000
	asks := func(at trace.Time, n trace.Node, text string, more ...trace.Event) trace.Record {
		return trace.Record{Step: trace.Step{Kind: trace.Request, Node: n, Request: 1}, Now: at,
			Events: append([]trace.Event{{Type: spec.EventCall, Text: text}}, more...)}
	}
	run := recorded(map[string]string{"sync-always": "true", "replicas": "1", "erasures": "4"},
		asks(100*ms, 1, "c1 put a=101"),
		trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Now: 110 * ms,
			Events: []trace.Event{{Type: EventAcknowledged, Node: 1, Text: "101 is message 7"},
				{Type: spec.EventReturn, Text: "c1 is 101"}},
			Logs: []trace.Log{
				{Source: trace.LogOperator, Node: 2, At: 110 * ms,
					Text: `$JS.API.STREAM.PEER.REMOVE.KV_lockstep {"peer":"n2"} -> error: x (after 3ms)`},
				{Source: trace.LogOperator, Node: 2, At: 110 * ms, Text: `$JS.API.SERVER.REMOVE {"peer":"n2"} -> ok`},
				{Source: trace.LogServer, Node: 2, At: 110 * ms, Text: `$JS.API.STREAM.PURGE.KV_lockstep -> ok`}}},
		asks(400*ms, 2, "c2 cas a=101->201"), asks(401*ms, 2, "c3 cas b=0->301"), asks(402*ms, 2, "c4 cas b=5->6"),
		asks(403*ms, 1, "c5 get b"), asks(404*ms, 1, "c6 delete b"),
		trace.Record{Step: trace.Step{Kind: trace.Pause, Node: 1}, Now: 410 * ms,
			Events: []trace.Event{{Type: bubble.Paused, Node: 1, Text: "1s"}}},
		trace.Record{Step: trace.Step{Kind: trace.Crash, Node: 2}, Now: 420 * ms,
			Events: []trace.Event{{Type: "power-failure", Node: 2, Text: "1.blk has 0 of 30 bytes"}}},
		trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Now: 1420 * ms,
			Events: []trace.Event{{Type: bubble.Thawed, Node: 1}}},
		trace.Record{Step: trace.Step{Kind: trace.Restart, Node: 2}, Now: 1421 * ms})
	run.Outcome.Finding = &trace.Finding{Property: "p", Text: "broken"}
	text := Script(run)
	last := 0
	for _, want := range []string{
		"jetstream { store_dir: \"server$1\", sync_interval: always }\n" +
			"cluster { name: lockstep, listen: 127.0.0.1:622$1, routes: [nats://127.0.0.1:6221, nats://127.0.0.1:6222] }\n",
		"start 1\nstart 2\n",
		`req 1 '$JS.API.STREAM.CREATE.KV_lockstep' '{"name":"KV_lockstep",`, `"num_replicas":1,`,
		"req 1 '$KV.lockstep.a' 101 # c1\n",
		`req 2 '$JS.API.STREAM.PEER.REMOVE.KV_lockstep' '{"peer":"n2"}'` + "\n# at server 2, the operator: $JS.API.SERVER",
		"sleep 0.29\n" +
			"req 2 -H Nats-Expected-Last-Subject-Sequence:7 '$KV.lockstep.a' 201 & # c2, is not answered\n" +
			"req 2 -H Nats-Expected-Last-Subject-Sequence:0 '$KV.lockstep.b' 301 & # c3, is not answered\n" +
			"# at server 2: c4 cas b=5->6\n" +
			`req 1 '$JS.API.STREAM.MSG.GET.KV_lockstep' '{"last_by_subj":"$KV.lockstep.b"}' & # c5, is not answered` + "\n" +
			"req 1 -H KV-Operation:DEL '$KV.lockstep.b' '' & # c6, is not answered\n",
		"kill -STOP \"$(cat server1.pid)\" # for 1s\nkill -9 \"$(cat server2.pid)\"\n# the kill above is a power failure",
		"sleep 1.00\nkill -CONT \"$(cat server1.pid)\"\nstart 2\n# expected: p: broken\nwait\n",
	} {
		at := strings.Index(text[last:], want)
		if at < 0 {
			t.Fatalf("no %q after byte %d in\n%s", want, last, text)
		}
		last += at
	}
	if strings.Contains(text, "PURGE") {
		t.Error("a line of a server's log is no request")
	}
}

// No text of a trace becomes a command, an option or a second line. The script runs with programs that do nothing;
// whatever else a text could run would create a file.
func TestScriptOfHostileTrace(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	dir := t.TempDir()
	for _, hostile := range []string{"$(X)", "`X`", "a;X", "a&X&", "a|X", "a\nX\n", "a\rX", "'\nX\n'", "';X;'", "\";X;\"",
		"# \nX\n", "--exec=X", "a\nEND\nX\n"} {
		x := strings.ReplaceAll(hostile, "X", "touch "+filepath.Join(dir, "executed"))
		r := trace.Record{Text: x, Step: trace.Step{Kind: trace.Request, Node: 1, Request: 1},
			Logs: []trace.Log{{Source: trace.LogOperator, Node: 1, Text: x},
				{Source: trace.LogOperator, Node: 1, Text: "$JS.API.STREAM.PURGE." + x + " -> ok"},
				{Source: trace.LogOperator, Node: 1, Text: "$JS.API.STREAM.PURGE.a {" + x + "} -> ok"}}}
		for _, e := range []trace.Event{{Type: EventAcknowledged, Text: "5 is message " + x}, {Type: bubble.Paused, Text: x},
			{Type: "power-failure", Text: x}} {
			e.Node = 1
			r.Events = append(r.Events, e)
		}
		records := []trace.Record{r}
		for _, call := range []string{"c1 put " + x + "=3", "c1 put a=" + x, "c1 get " + x, "c1 delete " + x,
			"c1 cas a=5->" + x, "c1 cas " + x + "=5->6", "c1 other " + x, x + " put a=1", x} {
			records = append(records, trace.Record{Step: trace.Step{Kind: trace.Request, Node: 1, Request: 1},
				Events: []trace.Event{{Type: spec.EventCall, Text: call}}})
		}
		run := recorded(map[string]string{"replicas": x, "sync-always": x}, records...)
		run.Header.Build = x
		run.Outcome.Finding = &trace.Finding{Property: x, Text: x}
		text := strings.ReplaceAll(Script(run), "sleep 5\n", "")
		for _, line := range strings.Split(text, "\n") {
			if command, _, _ := strings.Cut(line, " # "); strings.HasPrefix(line, "req ") &&
				(strings.Contains(command, " --") || strings.Contains(command, " '-")) {
				t.Errorf("a text is an option: %s", line)
			}
		}
		file := filepath.Join(dir, "script.sh")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "kill -STOP", ": ")), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(shell, file)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "SERVER=true", "NATS=true", "TMPDIR="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s\n%s", x, err, out, text)
		}
		found, err := filepath.Glob(filepath.Join(dir, "*", "executed"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "executed")); err == nil || len(found) > 0 {
			t.Fatalf("a text of the trace was executed:\n%s", text)
		}
	}
}
